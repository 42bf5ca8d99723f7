// Processes, and the database, are killed at random while each message is sent twenty times at once to several of them: in the end there is
// one user row, one answer and one set of events for each, every caller was told the same, and nothing hangs.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createMetrics, type MetricRecord } from '../acceptance/support/metrics.ts';
import { type AnswerBody, createChatClient, type MessageRow } from '../support/chat-client.ts';
import { type Child, eventually, freePort, startChild } from '../support/child.ts';
import { connectTo } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';
import { asksAgain, createPlainCaller, LostAnswer } from './support/caller.ts';
import { type MessageQueue, onCluster, startMessageQueue } from './support/message-queue.ts';
import { createRandom, type Random, seedOfRun } from './support/random.ts';

const PROCESSES = 3;
const SESSIONS = 6;
const SENDS = 20;
const CRASHES = 10;
const BETWEEN_CRASHES_MS = { from: 400, to: 1500 };
const AWAY_MS = { from: 0, to: 800 };
const DELAY_MS = 500;

type Fleet = {
  ports: readonly number[];
  start(index: number): Promise<void>;
  kill(index: number): Promise<void>;
  stop(): Promise<void>;
};

/** Processes of their own ports and spools, on one database. */
async function startFleet(
  databaseUrl: string,
  dataDir: string,
  queue: MessageQueue | undefined,
): Promise<Fleet> {
  const ports = Array.from({ length: PROCESSES }, freePort);
  const children: (Child | undefined)[] = [];
  const start = async (index: number): Promise<void> => {
    const child = startChild([process.execPath, join(import.meta.dir, '../support/chat-process.ts')], {
      environment: {
        PORT: `${ports[index]}`,
        DATA_DIR: join(dataDir, `${index}`),
        DATABASE_URL: databaseUrl,
        BOOTSTRAP_WORKSPACE: WORKSPACE,
        BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
        MODEL_DELAY_MS: `${DELAY_MS}`,
        MODEL_JITTER: '1',
        LOG_LEVEL: 'warn',
        LOG_FORMAT: 'json',
        ...queue?.environment,
      },
    });
    children[index] = child;
    await eventually('a process to listen', () => child.output().includes('listens on'));
  };
  const kill = async (index: number): Promise<void> => {
    children[index]?.kill('SIGKILL');
    await children[index]?.exited;
  };
  await start(0);
  for (let index = 1; index < PROCESSES; index++) await start(index);
  return {
    ports,
    start,
    kill,
    stop: async () => void (await Promise.all(ports.map((_, index) => kill(index)))),
  };
}

test(`${CRASHES} crashes double no message, no answer and no event, and lose none`, async () => {
  const seed = seedOfRun();
  const random = createRandom(seed);
  const dataDir = freshFolder();
  const postgres = await startPostgresServer();
  const queue = onCluster ? await startMessageQueue() : undefined;
  let fleet: Fleet | undefined;
  try {
    fleet = await startFleet(postgres.url, dataDir, queue);
    await crashRepeatedly({ fleet, postgres, queue, random });
  } catch (error) {
    console.error(`FAULT_SEED=${seed}`);
    throw error;
  } finally {
    await fleet?.stop();
    await queue?.stop();
    await postgres.stop();
  }
});

async function crashRepeatedly({
  fleet,
  postgres,
  queue,
  random,
}: {
  fleet: Fleet;
  postgres: PostgresUnderTest;
  queue: MessageQueue | undefined;
  random: Random;
}): Promise<void> {
  const clients = fleet.ports.map((port) =>
    createChatClient(createPlainCaller(`http://127.0.0.1:${port}`, 20_000), {
      workspace: WORKSPACE,
      key: BOOTSTRAP_KEY,
    }),
  );
  const [first] = clients;
  if (first === undefined) throw new Error('no process');
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => first.newSession()));
  const told = new Map<string, Set<string>>();

  /** As channels do it: whatever went wrong, the same again, to anybody. */
  const sendUntilAnswered = async (session: string, text: string, own: Random): Promise<void> => {
    for (;;) {
      const client = own.pick(clients) ?? first;
      const answer = await client.send(session, text, { id: text }).catch((error: unknown) => {
        if (error instanceof LostAnswer) return undefined;
        throw error;
      });
      if (answer?.status === 200) {
        const body = JSON.parse(answer.text) as AnswerBody;
        told.get(text)?.add(JSON.stringify([body.user_message_id, body.message_id, body.answer]));
        return;
      }
      if (answer !== undefined && ![429, 500, 503].includes(answer.status)) throw new Error(answer.text);
      if (answer?.status === 500) throw new Error(`500: ${answer.text}`);
      await Bun.sleep(own.between({ from: 20, to: 200 }));
    }
  };
  let crashes = 0;
  /** One message after the other, for as long as there are crashes to come. */
  const converse = async (session: string, index: number): Promise<number> => {
    for (let number = 0; ; number++) {
      if (crashes >= CRASHES) return number;
      const text = `message ${index}.${number}`;
      told.set(text, new Set());
      await Promise.all(Array.from({ length: SENDS }, () => sendUntilAnswered(session, text, random.fork())));
    }
  };
  const crash = async (): Promise<void> => {
    for (; crashes < CRASHES; crashes++) {
      await Bun.sleep(random.between(BETWEEN_CRASHES_MS));
      const hit = fleet.ports.map((_, index) => index).filter(() => random.chance(0.4));
      const database = random.chance(0.3);
      const servers = (queue?.servers ?? []).filter(() => random.chance(0.4));
      await Promise.all([
        database ? postgres.kill() : undefined,
        ...hit.map((index) => fleet.kill(index)),
        ...servers.map(({ kill }) => kill()),
      ]);
      if (database) await postgres.start();
      await Promise.all(servers.map(({ start }) => start()));
      await Promise.all(
        hit.map(async (index) => {
          await Bun.sleep(random.between(AWAY_MS));
          await fleet.start(index);
        }),
      );
    }
  };
  const [counts] = await Promise.all([
    Promise.all(sessions.map(({ name }, index) => converse(name, index))),
    crash(),
  ]);
  console.log(`${told.size} messages, each sent ${SENDS} times, and ${crashes} crashes`);

  // Every caller was told one answer.
  for (const [text, answers] of told) expect([text, answers.size]).toEqual([text, 1]);
  const { transcript } = createChatClient(
    asksAgain(createPlainCaller(`http://127.0.0.1:${fleet.ports[0]}`)),
    {
      workspace: WORKSPACE,
      key: BOOTSTRAP_KEY,
    },
  );
  await verifyRows(sessions, { counts, told, transcript });
  await verifyEvents(fleet, { databaseUrl: postgres.url, sessions: sessions.length, messages: told.size });
}

async function verifyRows(
  sessions: readonly { chat_session_id: number }[],
  {
    counts,
    told,
    transcript,
  }: {
    counts: readonly number[];
    told: ReadonlyMap<string, ReadonlySet<string>>;
    transcript(id: number): Promise<MessageRow[]>;
  },
): Promise<void> {
  for (const [index, { chat_session_id }] of sessions.entries()) {
    const rows = await transcript(chat_session_id);
    const expected = Array.from({ length: counts[index] ?? 0 }, (_, number) => `message ${index}.${number}`);
    expect(rows.filter(({ role }) => role === 'user').map(({ message }) => message)).toEqual(expected);
    expect(rows.length).toBe(2 * expected.length);
    expect(rows.slice(1).map(({ parent_message_id }) => parent_message_id)).toEqual(
      rows.slice(0, -1).map(({ message_id }) => message_id),
    );
    for (const [number, text] of expected.entries()) {
      const [question, answer] = rows.slice(2 * number, 2 * number + 2);
      expect(told.get(text)).toEqual(
        new Set([JSON.stringify([question?.message_id, answer?.message_id, answer?.message])]),
      );
    }
  }
}

/** Also those whose process was killed between the change and the recording. */
async function verifyEvents(
  fleet: Fleet,
  { databaseUrl, sessions, messages }: { databaseUrl: string; sessions: number; messages: number },
): Promise<void> {
  const call = asksAgain(createPlainCaller(`http://127.0.0.1:${fleet.ports[0]}`));
  const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const count = sessions + 2 * messages;
  let found: MetricRecord[] = [];
  await eventually(
    `${count} events`,
    async () => {
      found = (await metrics.all()).filter(({ type }) => !type.startsWith('auth.'));
      return found.length >= count;
    },
    60_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${found.length} are there`);
  });
  // An event leaves the outbox in the statement that stores it: then nothing is left that could come, or come again.
  const sql = connectTo(databaseUrl);
  await eventually('no event to be on its way', async () => {
    const [{ waiting } = { waiting: 1 }] = await sql<{ waiting: number }[]>`
      SELECT (SELECT count(*) FROM usage_outbox) + (SELECT count(*) FROM chat_messages WHERE state = 'pending') AS waiting`;
    return Number(waiting) === 0;
  }).finally(() => sql.end({ timeout: 1 }));
  found = (await metrics.all()).filter(({ type }) => !type.startsWith('auth.'));
  const keys = found.map(({ type, data }) => `${type} ${data['message_id'] ?? data['chat_session_id']}`);
  expect(keys.length).toBe(new Set(keys).size);
  const counts = Map.groupBy(found, ({ type }) => type);
  expect(Object.fromEntries([...counts].map(([type, events]) => [type, events.length]))).toEqual({
    'chat.create': sessions,
    'messages.user.new': messages,
    'messages.rag.persona.new': messages,
  });
}
