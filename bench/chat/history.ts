// What the next message costs in a session of ten, and of ten thousand: its memory is a window, not a scan.

import { createTurnStore } from '../../src/chat/store/turns.ts';
import { printTable, verdict } from '../lib/report.ts';
import { measure, newSession, percentile, type Setting, send, startSetting } from './setting.ts';

const LENGTHS = [10, 10_000];
const TARGET = 1.2;
const READS = 2000;
const SEND_SECONDS = 4;

/** Times in ms of the short session and of the long one, in order, and the long one's p50 as a multiple of the short one's. */
type Compared = { times: number[][]; ratio: number };

export async function compareHistory(
  reads: number,
  sendSeconds: number,
): Promise<Record<'read' | 'send', Compared>> {
  await using setting = await startSetting({ modelDelayMs: 0 });
  const sessions = await Promise.all(LENGTHS.map((length) => fill(setting, length)));
  await setting.sql.unsafe('VACUUM ANALYZE chat_messages');
  const store = createTurnStore(setting.sql, crypto.randomUUID());
  const found = LENGTHS.map((): number[] => []);
  for (let read = 0; read < reads; read++) {
    for (const [index, { headId }] of sessions.entries()) {
      const startedAt = performance.now();
      await store.history(headId, { messagesMax: 20, bytesMax: 32_000 });
      found[index]?.push(performance.now() - startedAt);
    }
  }
  const sends = await Promise.all(
    sessions.map(({ name }) => measure(sendSeconds, [() => send(setting, name, 'And now?')])),
  );
  const compared = (times: number[][]): Compared => ({ times, ratio: p50(times[1]) / p50(times[0]) });
  return { read: compared(found), send: compared(sends) };
}

const p50 = (times: readonly number[] | undefined): number =>
  percentile(
    (times ?? []).toSorted((one, other) => one - other),
    0.5,
  );

export async function measureHistory(): Promise<void> {
  const { read, send: sent } = await compareHistory(READS, SEND_SECONDS);
  printTable(
    'Memory of a long session, p50',
    [
      'what',
      ...LENGTHS.map((length) => `of ${length.toLocaleString('en-US')} messages, ms`),
      'ratio',
      'target',
    ],
    [['reading the window of 20', read] as const, ['send-message', sent] as const].map(
      ([name, { times, ratio }]) => [
        name,
        ...times.map((each) => p50(each).toFixed(2)),
        `${ratio.toFixed(2)} ×`,
        verdict([ratio], TARGET),
      ],
    ),
  );
}

/** A session with as many messages in one branch. */
async function fill(setting: Setting, length: number): Promise<{ name: string; headId: number }> {
  const { name, id } = await newSession(setting);
  const [row] = await setting.sql<{ headId: number }[]>`
    WITH ids AS MATERIALIZED (SELECT n, nextval('chat_message_ids') AS id FROM generate_series(1, ${length}) AS n),
    made AS (
      INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, state)
      SELECT id, ${id}, 'acme', lag(id) OVER (ORDER BY n), CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END,
        'Message ' || n, CASE WHEN n % 2 = 0 THEN 'done' END FROM ids)
    UPDATE chat_sessions SET head_id = (SELECT max(id) FROM ids), message_count = ${length}
    WHERE id = ${id} RETURNING head_id AS "headId"`;
  return { name, headId: row?.headId ?? 0 };
}
