// Usage records of model calls: durable before the answer, and none lost or doubled while the event buffer fails.

import { expect, test } from 'bun:test';
import { systemClock } from '../../src/core/clock.ts';
import type { ServiceEvent } from '../../src/core/event.ts';
import { type UsageRecord, UsageRecords } from '../../src/gateway/accounting/usage-records.ts';
import { USAGE_RECORD_WAIT_MS, USAGE_RECORDS_MAX } from '../../src/gateway/limits.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';

const RECORD: UsageRecord = {
  workspaceId: 'w',
  subject: 'a@example.com',
  keyId: 'k',
  endpoint: 'chat',
  model: 'm',
  metricsModel: 'm',
  target: 'u/m',
  outcome: 'ok',
  continues: false,
  usage: { promptTokens: 3, completionTokens: 5, cacheReadTokens: 2, estimated: false },
  cost: 0.5,
  latencyMs: 10,
  firstEventMs: 4,
  requestId: 'r',
  traceId: undefined,
};

/** A buffer that fails or answers late as the test says. It may have taken the events of an append that fails. */
function recording() {
  const buffer = { away: false, takes: true, held: undefined as PromiseWithResolvers<void> | undefined };
  const appends: ServiceEvent[][] = [];
  const stored = new Map<string, ServiceEvent>();
  const errors: unknown[] = [];
  const records = new UsageRecords({
    async record(events) {
      appends.push([...events]);
      await buffer.held?.promise;
      if (!buffer.away || buffer.takes) for (const event of events) stored.set(event.eventId, event);
      if (buffer.away) throw new Error('away');
    },
    clock: systemClock,
    log: { ...silentLog, error: (...given: unknown[]) => void errors.push(given) },
  });
  const add = (model = 'm') => records.add({ ...RECORD, model });
  const models = () => [...stored.values()].map(({ data }) => data['model']);
  return { records, buffer, appends, stored, errors, add, models };
}

const settles = async (promise: Promise<void>, timeoutMs: number): Promise<boolean> =>
  Promise.race([promise.then(() => true), Bun.sleep(timeoutMs).then(() => false)]);

test('a call has one event with what it used, apart from the events of its workspace', async () => {
  const { add, stored } = recording();
  await add();
  expect([...stored.values()]).toMatchObject([
    {
      workspaceId: 'w/models',
      type: 'model.usage',
      subject: 'a@example.com',
      data: {
        value: 1,
        key_id: 'k',
        endpoint: 'chat',
        model: 'm',
        target: 'u/m',
        outcome: 'ok',
        estimated: false,
        prompt_tokens: 3,
        completion_tokens: 5,
        cached_tokens: 2,
        cost: 0.5,
        latency_ms: 10,
        first_event_ms: 4,
        request_id: 'r',
      },
    },
  ]);
});

test('an answer waits until its record is durable; calls that end meanwhile share the next append', async () => {
  const { add, buffer, appends } = recording();
  buffer.held = Promise.withResolvers();
  const first = add();
  const others = [add(), add(), add()];
  expect(await settles(first, 50)).toBe(false);
  buffer.held.resolve();
  await Promise.all([first, ...others]);
  expect(appends.map(({ length }) => length)).toEqual([1, 3]);
});

test('while the buffer fails no answer waits; its records count once, in order, when it works again', async () => {
  const { records, add, buffer, stored, models } = recording();
  buffer.away = true;
  await add('first');
  for (const model of ['second', 'third']) expect(await settles(add(model), 50)).toBe(true);
  expect(records.delayed).toBe(3);
  buffer.away = false;
  await eventually('all of them', () => stored.size === 3 && records.delayed === 0);
  expect(models()).toEqual(['first', 'second', 'third']);
  await add('fourth');
  expect(models()).toHaveLength(4);
});

test('a slow buffer keeps an answer for a second at most, and the next ones not at all', async () => {
  const { add, buffer, stored } = recording();
  buffer.held = Promise.withResolvers();
  const startedAt = performance.now();
  await add();
  expect(performance.now() - startedAt).toBeGreaterThan(USAGE_RECORD_WAIT_MS / 2);
  expect(await settles(add(), 50)).toBe(true);
  buffer.held.resolve();
  await eventually('both', () => stored.size === 2);
});

test('calls are refused with 503 once no more records can wait, and taken again when they are durable', async () => {
  const { records, add, buffer, stored } = recording();
  buffer.away = true;
  buffer.takes = false;
  await add();
  for (let index = 1; index < USAGE_RECORDS_MAX; index++) {
    records.requireRoom();
    void add();
  }
  expect(() => records.requireRoom()).toThrow(
    expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 2 }),
  );
  // A call that was admitted before has its record all the same.
  void add();
  buffer.away = false;
  await eventually('all of them', () => stored.size === USAGE_RECORDS_MAX + 1);
  records.requireRoom();
});

test('a service that ends records what waits; what the buffer never takes is logged', async () => {
  const ending = recording();
  ending.buffer.away = true;
  ending.buffer.takes = false;
  await ending.add();
  const stopping = ending.records.job.stop();
  ending.buffer.away = false;
  await stopping;
  expect([ending.stored.size, ending.errors.length]).toEqual([1, 0]);

  const failing = recording();
  failing.buffer.away = true;
  await failing.add();
  await failing.records.job.stop();
  expect(failing.errors).toMatchObject([[{ records: 1 }, expect.stringContaining('lost')]]);
});

test('names that callers made up can be stored', async () => {
  const { add, models } = recording();
  for (const model of ['a\0b', '\ud800', 'x'.repeat(5000)]) await add(model);
  expect(models()).toEqual(['ab', '\ufffd', 'x'.repeat(300)]);
});
