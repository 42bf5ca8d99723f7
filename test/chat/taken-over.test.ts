// One process takes over what another one is making: exactly one attempt counts, and the other stops, stores nothing and
// tells nothing more. The stores are real, the model and the lease are told what to do.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createMemory } from '../../src/chat/memory.ts';
import { createCounts } from '../../src/chat/metrics.ts';
import type { AnswerStream } from '../../src/chat/pending-answer.ts';
import { createSessionQueue } from '../../src/chat/session-queue.ts';
import { createRecoveryStore } from '../../src/chat/store/recovery.ts';
import { createSessionStore } from '../../src/chat/store/sessions.ts';
import { createTurnStore } from '../../src/chat/store/turns.ts';
import type { Turn } from '../../src/chat/turn.ts';
import { eventually } from '../support/child.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

const REACH = { userId: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa', scopes: new Set<never>() };
const KEYS = {
  workspaceId: 'acme',
  channel: 'web',
  channelPlugin: 'widget',
  channelId: 'shop',
  channelSessionId: 'here',
};

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await database.sql`INSERT INTO workspaces (id, name) VALUES ('acme', 'Acme')`;
  const session = { ...KEYS, personaId: 0, agiId: 'x', person: 'a@example.com' };
  await createSessionStore(database.sql).open(session, { reach: REACH, rebinds: false });
});
afterEach(() => database.drop());

/** A line with a store of its own, whose lease is held until it lapses, and again once it is renewed. */
function startProcess(name: string) {
  const owner = crypto.randomUUID();
  const turns = createTurnStore(database.sql, owner);
  let isHeld = true;
  let heldSince = 0;
  let stored = 0;
  const calls: { say(text: string): void; end(): void; signal: AbortSignal }[] = [];
  const line = createSessionQueue({
    store: {
      ...turns,
      finish(turn, result) {
        stored += 1;
        return turns.finish(turn, result);
      },
    },
    lease: { covers: (since) => isHeld && since >= heldSince },
    generate: (turn, { onText, signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      calls.push({ say: onText, end: resolve, signal });
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise.then(() => ({
        message: `${name} ${turn.attempt}`,
        citations: [],
        agentId: 'x',
        kind: 'persona' as const,
        model: 'm',
        finishReason: 'stop',
        promptTokens: 1,
        completionTokens: 1,
      }));
    },
    memory: createMemory(turns),
    counts: createCounts(),
    wakeMover: () => undefined,
    log: silentLog,
  });
  return {
    owner,
    line,
    calls,
    finishes: () => stored,
    adopt: createRecoveryStore(database.sql, owner).adopt,
    lapse(): void {
      isHeld = false;
    },
    async renewAndCheck(): Promise<void> {
      heldSince = performance.now();
      isHeld = true;
      await line.check();
    },
    async take() {
      const takenAt = performance.now();
      const taken = await turns.accept({
        workspaceId: 'acme',
        place: { session: KEYS, channelMessageId: '1' },
        reach: REACH,
        message: 'question',
        channelAnswerId: null,
        agentId: null,
        caller: { email: 'a@example.com', readsAs: '' },
      });
      if (taken.outcome !== 'accepted') throw new Error(taken.outcome);
      return { ...taken, takenAt };
    },
  };
}
type Process = ReturnType<typeof startProcess>;

async function takeOver(from: Process, to: Process, { answerId, attempt }: Turn): Promise<AnswerStream> {
  const takenAt = performance.now();
  const turn = await to.adopt({ answerId, attempt, owner: from.owner, isMine: false, isLost: true });
  if (turn === undefined) throw new Error('somebody was faster');
  return to.line.enter(turn, { isFirst: true, takenAt });
}

const callOf = (process: Process) => eventually('the model to be asked', () => process.calls[0]);

function listenTo(answerStream: AnswerStream) {
  const told: string[] = [];
  answerStream.follow({
    onText: (text) => told.push(text),
    onRetracted: ({ kind, message }) => told.push(`${kind}: ${message}`),
  });
  return told;
}

/** Everything that an attempt could have changed. */
const allRows = () => database.sql`
  SELECT to_json(s) AS session, (SELECT json_agg(m ORDER BY m.id) FROM chat_messages m) AS messages
  FROM chat_sessions s`;

const answers = async () => {
  const rows = await database.sql<{ message: string; attempts: number }[]>`
    SELECT message, attempts FROM chat_messages WHERE state = 'done'`;
  return rows.map(({ message, attempts }) => [message, attempts]);
};

test('between its taking and its start: the model is asked by the one who took it over alone', async () => {
  const [one, other] = [startProcess('one'), startProcess('other')];
  const { turn, isFirst, takenAt } = await one.take();
  one.lapse();
  const takenOver = await takeOver(one, other, turn);
  (await callOf(other)).end();
  await takenOver.outcome;
  const before = await allRows();
  const { outcome } = one.line.enter(turn, { isFirst, takenAt });
  one.line.isFirst(turn.answerId);
  await one.renewAndCheck();
  expect((await outcome).message).toBe('other 2');
  expect([one.calls.length, one.finishes(), other.calls.length]).toEqual([0, 0, 1]);
  expect(await allRows()).toEqual(before);
});

test('a renewed lease says nothing of what was taken before it: that is checked first', async () => {
  const [one, other] = [startProcess('one'), startProcess('other')];
  const { turn, isFirst, takenAt } = await one.take();
  await takeOver(one, other, turn);
  await one.renewAndCheck();
  const { outcome } = one.line.enter(turn, { isFirst, takenAt });
  one.line.isFirst(turn.answerId);
  await one.line.check();
  expect(one.calls.length).toBe(0);
  (await callOf(other)).end();
  await eventually('the answer', async () => (await answers()).length === 1);
  await one.line.check();
  expect((await outcome).message).toBe('other 2');
});

test('between its start and its end: its call is ended at once, and who was told a part of it is told so', async () => {
  const [one, other] = [startProcess('one'), startProcess('other')];
  const { turn, isFirst, takenAt } = await one.take();
  const answerStream = one.line.enter(turn, { isFirst, takenAt });
  const told = listenTo(answerStream);
  const call = await callOf(one);
  call.say('part ');
  const takenOver = await takeOver(one, other, turn);
  one.lapse();
  call.say('of what nobody is told');
  expect(told).toEqual(['part ']);
  expect(call.signal.aborted).toBe(false);
  await one.renewAndCheck();
  expect(call.signal.aborted).toBe(true);
  call.say(' at all');
  expect(told).toEqual([
    'part ',
    'unavailable: Another process has taken over the answer; the same message again gives it',
  ]);
  const late = listenTo(one.line.follow(turn));
  (await callOf(other)).end();
  await takenOver.outcome;
  const before = await allRows();
  await one.line.check();
  expect((await answerStream.outcome).message).toBe('other 2');
  expect(late).toEqual([]);
  expect(one.finishes()).toBe(0);
  expect(await allRows()).toEqual(before);
  expect(await answers()).toEqual([['other 2', 2]]);
});

test('at its end: what was made meanwhile is not stored, and nothing of it is told', async () => {
  const [one, other] = [startProcess('one'), startProcess('other')];
  const { turn, isFirst, takenAt } = await one.take();
  const answerStream = one.line.enter(turn, { isFirst, takenAt });
  const told = listenTo(answerStream);
  const call = await callOf(one);
  one.lapse();
  const takenOver = await takeOver(one, other, turn);
  call.say('all of it');
  call.end();
  (await callOf(other)).end();
  await takenOver.outcome;
  const before = await allRows();
  await one.renewAndCheck();
  await one.line.check();
  expect((await answerStream.outcome).message).toBe('other 2');
  expect([told, one.finishes()]).toEqual([[], 0]);
  expect(await allRows()).toEqual(before);
});

test('a process whose lease has lapsed and that nobody has taken anything from goes on where it was', async () => {
  const one = startProcess('one');
  const { turn, isFirst, takenAt } = await one.take();
  const answerStream = one.line.enter(turn, { isFirst, takenAt });
  const told = listenTo(answerStream);
  const call = await callOf(one);
  call.say('before ');
  one.lapse();
  call.say('meanwhile ');
  call.end();
  await Bun.sleep(0);
  expect([told, one.finishes()]).toEqual([['before '], 0]);
  await one.renewAndCheck();
  expect(told).toEqual(['before ', 'meanwhile ']);
  expect((await answerStream.outcome).message).toBe('one 1');
  expect([one.calls.length, await answers()]).toEqual([1, [['one 1', 1]]]);
});

test('a session that is deleted ends the call for its answer; who waits is told that it is gone', async () => {
  const one = startProcess('one');
  const { turn, isFirst, takenAt } = await one.take();
  const answerStream = one.line.enter(turn, { isFirst, takenAt });
  const told = listenTo(answerStream);
  const call = await callOf(one);
  call.say('part');
  await database.sql`SELECT chat_delete_session('acme', ${turn.sessionId}, ${REACH.userId}, false, '')`;
  await one.line.check();
  expect(call.signal.aborted).toBe(true);
  await expect(answerStream.outcome).rejects.toMatchObject({ kind: 'not-found' });
  expect([told, one.finishes()]).toEqual([['part'], 0]);
});

test('wherever the other one comes between, one attempt counts, and both tell the same', async () => {
  const [one, other] = [startProcess('one'), startProcess('other')];
  const { turn, isFirst, takenAt } = await one.take();
  const answerStream = one.line.enter(turn, { isFirst, takenAt });
  const call = await callOf(one);
  // Both in flight at once: the database decides.
  const stealing = takeOver(one, other, turn).catch(() => undefined);
  call.end();
  const stolen = await stealing;
  if (stolen !== undefined) (await callOf(other)).end();
  await eventually('the answer', async () => (await answers()).length === 1);
  await one.line.check();
  const [[message]] = (await answers()) as [[string, number]];
  expect((await answerStream.outcome).message).toBe(message);
  if (stolen !== undefined) expect((await stolen.outcome).message).toBe(message);
  const [row] = await database.sql<{ count: number }[]>`
    SELECT message_count AS count FROM chat_sessions`;
  expect(row?.count).toBe(2);
});
