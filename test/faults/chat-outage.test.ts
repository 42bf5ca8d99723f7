// Conversations while the database is away for longer than a process counts as living, and while a process stands still:
// a running process asks the model once for each of its messages, another process makes the answers of a dead one, and a process
// whose answer was taken over stores and sends no more of it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALIVE_MS } from '../../src/chat/limits.ts';
import { type ChatClient, createChatClient, eventsOf } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { connectTo } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import type { ModelsFile } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { createPlainCaller } from './support/caller.ts';

const PATIENCE_MS = 300_000;

/** An answer that takes half a minute, longer than the database is away; abandoned answers take less. */
const modelOf = (name: string) => ({
  targets: [
    { upstream: 'mock', model: `trickle+ms=500+words=${name.startsWith('left') ? 20 : 60}+key=${name}` },
  ],
});
const MODELS = ['kept-hangs', 'left-hangs', 'kept-gone', 'left-gone', 'stopped'];

let folder: string;
let database: PostgresUnderTest;
let mock: MockUpstream;
beforeAll(async () => {
  folder = freshFolder();
  database = await startPostgresServer();
  mock = await startMockUpstream();
  const file: ModelsFile = {
    upstreams: { mock: { base_url: `${mock.url}/v1`, timeout_ms: { idle: 60_000 } } },
    models: Object.fromEntries(MODELS.map((name) => [name, modelOf(name)])),
  };
  writeFileSync(join(folder, 'models.json'), JSON.stringify(file));
});
afterAll(async () => {
  await database.stop();
  await mock.stop();
});

type Process = AsyncDisposable & {
  url: string;
  chat: ChatClient;
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
};

async function startProcess(): Promise<Process> {
  const environment = { DATABASE_URL: database.url, MODELS_CONFIG: join(folder, 'models.json') };
  const service = await startService({ environment });
  const { url, child } = service;
  return {
    url,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    chat: createChatClient(createPlainCaller(url, PATIENCE_MS), { workspace: WORKSPACE, key: BOOTSTRAP_KEY }),
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  };
}

/** A session whose answers one model makes. */
async function sessionWith({ chat }: Process, model: string): Promise<{ name: string; id: number }> {
  const answer = await chat.putAgent(model, { name: model, kind: 'persona', model });
  expect([200, 201]).toContain(answer.status);
  const { name, chat_session_id } = await chat.newSession({ agi_id: model });
  return { name, id: chat_session_id };
}

/** A question whose answer is streamed: what has come of it so far. */
function stream({ url, chat }: Process, session: string, id: string) {
  let text = '';
  const over = (async () => {
    const response = await fetch(`${url}${chat.sendPath(session)}`, {
      method: 'POST',
      headers: { 'svc-key': BOOTSTRAP_KEY, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({
        message: 'question',
        channel_user_message_id: id,
        channel_assistant_message_id: `a-${id}`,
      }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return eventsOf(text);
  })();
  return { over, text: () => text };
}

const isAsked = (model: string, times: number) =>
  eventually(
    `${model} to be asked ${times} times`,
    async () => (await mock.state(model)).requests === times,
    PATIENCE_MS,
  );

const deltasOf = (events: Awaited<ReturnType<typeof stream>['over']>): string =>
  events.map(({ type, text }) => (type === 'delta' ? text : '')).join('');

const outages = {
  hangs: { begin: () => database.pause(), end: () => database.resume() },
  gone: { begin: () => database.kill(), end: () => database.start() },
};

for (const [state, { begin, end }] of Object.entries(outages))
  test(`a database that ${state} for longer than a process counts as living costs the living no second call; what the dead have left is made`, async () => {
    const [kept, left] = [`kept-${state}`, `left-${state}`];
    await using one = await startProcess();
    await using other = await startProcess();
    await using dying = await startProcess();
    const sessions = [await sessionWith(one, kept), await sessionWith(one, kept)] as const;
    const leftBehind = await sessionWith(one, left);
    const streams = [stream(one, sessions[0].name, '1'), stream(other, sessions[1].name, '1')];
    await isAsked(kept, 2);
    await eventually('text of both', () => streams.every(({ text }) => text().includes('delta')));
    // The last, as its answer is to be unfinished when its process dies.
    void stream(dying, leftBehind.name, '1').over.catch(() => undefined);
    await isAsked(left, 1);
    await Promise.all([begin(), dying.kill()]);
    await Bun.sleep(ALIVE_MS + 4000);
    await end();
    for (const { over } of streams) {
      const events = await over;
      expect(events.at(-1)).toMatchObject({ type: 'end', answer: deltasOf(events) });
    }
    expect((await mock.state(kept)).requests).toBe(2);
    await isAsked(left, 2);
    const asked = await one.chat.ask(leftBehind.name, 'question', { id: '1' });
    expect(asked.answer).not.toBe('');
    expect((await mock.state(left)).requests).toBe(2);
  });

test('a process that stood still, whose answer another one makes, ends its call, stores nothing, and tells its stream so', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  const sql = connectTo(database.url);
  await using _ = { [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
  const { name, id } = await sessionWith(one, 'stopped');
  const told = stream(one, name, '1');
  await eventually('a part of the answer', () => told.text().includes('delta'));
  const waiting = one.chat.ask(name, 'question', { id: '1' });
  one.pause();
  await isAsked('stopped', 2);
  const before = told.text();
  one.resume();
  await told.over;
  expect(eventsOf(told.text().slice(before.length))).toEqual([
    {
      type: 'error',
      error_msg: 'Another process has taken over the answer; the same message again gives it',
      status: 503,
    },
  ]);
  await eventually('its call to be ended', async () => (await mock.state('stopped')).cancelled.length === 1);
  expect((await mock.state('stopped')).running).toBe(1);

  // Who was told nothing yet, and who asks again, gets the other's answer.
  const { answer, message_id } = await waiting;
  expect(await one.chat.ask(name, 'question', { id: '1' })).toMatchObject({ answer, message_id });
  expect((await other.chat.transcript(id)).map(({ message }) => message)).toEqual(['question', answer]);
  expect((await mock.state('stopped')).requests).toBe(2);
  const events = () => sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM usage_events WHERE type = 'messages.rag.persona.new'
      AND data ->> 'message_id' = ${`${message_id}`}`;
  await eventually('its event', async () => (await events())[0]?.count === 1);
});
