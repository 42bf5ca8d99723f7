// What send-message takes beside its model: the time of a request without its model's, against one round trip to the
// database (a row that is inserted, durably) among the same load; and how many there can be of a model without a time.

import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import { exchange, measure, newSession, percentile, type Setting, startSetting } from './setting.ts';

const FLIGHT = 32;
const P50_TARGET = 8;
const P99_TARGET = 4;
const WARM_UP_SECONDS = 3;
/** A quick model: it takes half of this on average, by chance, so that sessions do not march in step. */
const MODEL_MS = 400;
const PROBE_PAUSE_MS = 5;

export async function measureOwnTime(seconds: number): Promise<void> {
  await measureOf(seconds, MODEL_MS);
  await measureOf(seconds, 0);
}

async function measureOf(seconds: number, modelDelayMs: number): Promise<void> {
  await using setting = await startSetting({ modelDelayMs, modelJitter: true });
  await setting.sql`CREATE TABLE bench_floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)`;
  const sessions = await Promise.all(Array.from({ length: FLIGHT }, () => newSession(setting)));
  const messages = sessions.map(({ name }) => async () => {
    const { totalMs, modelMs } = await exchange(setting, name, 'What does a message cost?');
    return totalMs - modelMs;
  });
  await measure(WARM_UP_SECONDS, messages);
  // Taking turns, so that a passing load of the machine falls on all.
  const times: Record<Kind, number[]> = { alone: [], among: [], message: [] };
  for (let round = 0; round < 4; round++) {
    times.alone.push(
      ...(await measure(
        seconds / 16,
        lines(() => insert(setting)),
      )),
    );
    const [among, own] = await Promise.all([
      measure(seconds / 4, [() => Bun.sleep(PROBE_PAUSE_MS).then(() => insert(setting))]),
      measure(seconds / 4, messages),
    ]);
    times.among.push(...among);
    times.message.push(...own);
  }
  for (const each of Object.values(times)) each.sort((one, other) => one - other);
  const [floor, p50, p99] = [
    percentile(times.among, 0.5),
    percentile(times.message, 0.5),
    percentile(times.message, 0.99),
  ];
  // Without a model the machine is saturated: that says how many there can be, not how long they take.
  const ofModel = (text: string): string => (modelDelayMs === 0 ? '' : text);
  const row = (name: string, own: readonly number[]): string[] => [
    name,
    whole(own.length),
    milliseconds(percentile(own, 0.5)),
    milliseconds(percentile(own, 0.99)),
    multiple(percentile(own, 0.5) / floor),
  ];
  printTable(
    `send-message but for its model of ${modelDelayMs / 2} ms, ${FLIGHT} sessions in flight (${whole(times.message.length / seconds)}/s)`,
    ['what', 'times', 'p50 ms', 'p99 ms', 'p50 of the round trip', 'target'],
    [
      [...row(`a row inserted, ${FLIGHT} in flight, nothing else`, times.alone), ''],
      [...row('a row inserted, among the messages: the round trip', times.among), ''],
      [
        ...row('send-message over HTTP, our own time', times.message),
        ofModel(verdict([p50 / floor], P50_TARGET)),
      ],
      ['its p99 of its p50', '', '', '', multiple(p99 / p50), ofModel(verdict([p99 / p50], P99_TARGET))],
    ],
  );
}

type Kind = 'alone' | 'among' | 'message';

const lines = (work: () => Promise<number>): (() => Promise<number>)[] =>
  Array.from({ length: FLIGHT }, () => work);

async function insert({ sql }: Setting): Promise<number> {
  const startedAt = performance.now();
  await sql`INSERT INTO bench_floor (text) VALUES ('What does a message cost?')`;
  return performance.now() - startedAt;
}
