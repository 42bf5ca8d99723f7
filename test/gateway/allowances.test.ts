// Limits of keys: exactly as many as they say, refilled evenly, shared by all processes.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { KeyLimits } from '../../src/core/principal.ts';
import { createAllowances } from '../../src/gateway/allowances.ts';
import { type AllowanceStore, createAllowanceStore, type Used } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 30, 23, 50);

/** A fake store that holds nothing, for one process alone. */
const noStore: AllowanceStore = {
  find: async () => undefined,
  add: async () => new Map<string, Used>(),
};

class Clock {
  ms = START;
}

function process(clock: Clock, store: AllowanceStore = noStore) {
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...given: unknown[]) => void warnings.push(given) };
  const allowances = createAllowances({ store, log, now: () => clock.ms });
  return {
    allowances,
    warnings,
    sync: async (): Promise<void> => allowances.job.settle?.(),
    /** The headers, or the refusal. */
    async ask(limits: KeyLimits, keyId = 'key'): Promise<Record<string, string> | OpenAiRefusal> {
      try {
        return await allowances.reserve({ keyId, limits });
      } catch (error) {
        if (error instanceof OpenAiRefusal) return error;
        throw error;
      }
    },
  };
}

type Process = ReturnType<typeof process>;

async function countAnswered(asked: Process, limits: KeyLimits, times: number): Promise<number> {
  let answered = 0;
  for (let index = 0; index < times; index++)
    if (!((await asked.ask(limits)) instanceof OpenAiRefusal)) answered += 1;
  return answered;
}

function refusalOf(answer: Record<string, string> | OpenAiRefusal): OpenAiRefusal {
  if (answer instanceof OpenAiRefusal) return answer;
  throw new Error('it was not refused');
}

describe('requests a minute', () => {
  for (const limit of [1, 2, 3, 7, 59, 60, 61, 600, 997, 9973, 10_000]) {
    test(`${limit}: so many at once and not one more, then evenly`, async () => {
      const clock = new Clock();
      const one = process(clock);
      const limits = { requests_per_minute: limit };
      expect(await countAnswered(one, limits, limit + 3)).toBe(limit);
      const intervalMs = MINUTE / limit;
      for (let step = 1; step <= 5; step++) {
        // A clock of whole milliseconds.
        clock.ms = START + Math.floor(step * intervalMs) - 1;
        if (intervalMs > 20) expect(await countAnswered(one, limits, 1)).toBe(0);
        clock.ms = START + Math.ceil(step * intervalMs);
        expect(await countAnswered(one, limits, 2)).toBe(1);
      }
    });
  }

  test('however they come, no minute holds more than twice, and none of steady ones more than the limit', async () => {
    const gaps = fc.array(fc.nat(4000), { minLength: 20, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), gaps, async (limit, waits) => {
        const clock = new Clock();
        const one = process(clock);
        let answered = 0;
        for (const wait of waits) {
          clock.ms += wait;
          answered += await countAnswered(one, { requests_per_minute: limit }, 1);
          const allowed = limit + ((clock.ms - START) * limit) / MINUTE;
          expect(answered).toBeLessThanOrEqual(Math.floor(allowed + 1e-3));
        }
      }),
      { numRuns: 50 },
    );
  });

  test('waiting for as long as a refusal says is enough', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1000 }), fc.nat(50_000), async (limit, laterMs) => {
        const clock = new Clock();
        const one = process(clock);
        const limits = { requests_per_minute: limit };
        await countAnswered(one, limits, limit);
        clock.ms += laterMs;
        await countAnswered(one, limits, limit);
        const refusal = refusalOf(await one.ask(limits));
        clock.ms += Number(refusal.details.headers?.['retry-after-ms']);
        expect(await one.ask(limits)).not.toBeInstanceOf(OpenAiRefusal);
      }),
      { numRuns: 50 },
    );
  });

  test('the headers tell what is left, and when all is there again', async () => {
    const clock = new Clock();
    const one = process(clock);
    const limits = { requests_per_minute: 4 };
    const told = [];
    for (let index = 0; index < 4; index++) told.push(await one.ask(limits));
    expect(told).toEqual(
      [3, 2, 1, 0].map((left) => ({
        'x-ratelimit-limit-requests': '4',
        'x-ratelimit-remaining-requests': String(left),
        'x-ratelimit-reset-requests': `${(4 - left) * 15}s`,
      })),
    );
    const refusal = refusalOf(await one.ask(limits));
    expect(refusal.kind).toBe('too-many-requests');
    expect(refusal.retryAfterSeconds).toBe(15);
    expect(refusal.details).toMatchObject({
      ...{ type: 'requests', code: 'rate_limit_exceeded' },
      headers: { 'x-ratelimit-remaining-requests': '0', 'retry-after-ms': '15000' },
    });
  });

  test('keys do not count for one another', async () => {
    const one = process(new Clock());
    const limits = { requests_per_minute: 1 };
    expect(await one.ask(limits, 'a')).not.toBeInstanceOf(OpenAiRefusal);
    expect(await one.ask(limits, 'b')).not.toBeInstanceOf(OpenAiRefusal);
    expect(await one.ask(limits, 'a')).toBeInstanceOf(OpenAiRefusal);
  });

  test('a key without limits is never refused, and told nothing', async () => {
    const one = process(new Clock());
    expect(await countAnswered(one, {}, 1000)).toBe(1000);
    expect(await one.ask({})).toEqual({});
  });
});

describe('tokens a minute', () => {
  const limits = { tokens_per_minute: 600 };
  test('one request may overdraw; the next waits until something is left', async () => {
    const clock = new Clock();
    const one = process(clock);
    expect(await one.ask(limits)).toMatchObject({ 'x-ratelimit-remaining-tokens': '600' });
    one.allowances.use({ keyId: 'key', limits }, { tokens: 599, cost: 0 });
    expect(await one.ask(limits)).toMatchObject({ 'x-ratelimit-remaining-tokens': '1' });
    one.allowances.use({ keyId: 'key', limits }, { tokens: 601, cost: 0 });
    const refusal = refusalOf(await one.ask(limits));
    expect(refusal.details).toMatchObject({ type: 'tokens', code: 'rate_limit_exceeded' });
    // Twice the minute's tokens are used: one of them is left again after a minute and a tenth of a second.
    expect(Number(refusal.details.headers?.['retry-after-ms'])).toBe(60_100);
    clock.ms += 60_099;
    expect(await one.ask(limits)).not.toBeInstanceOf(OpenAiRefusal);
  });

  test('a refusal takes no request away', async () => {
    const clock = new Clock();
    const one = process(clock);
    const both = { ...limits, requests_per_minute: 2 };
    await one.ask(both);
    one.allowances.use({ keyId: 'key', limits: both }, { tokens: 600, cost: 0 });
    for (let index = 0; index < 5; index++) expect(await one.ask(both)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += 1000;
    expect(await one.ask(both)).not.toBeInstanceOf(OpenAiRefusal);
  });
});

describe('a budget a month', () => {
  const limits = { budget_per_month: 1 };
  test('is spent up, and there again when the month turns (UTC)', async () => {
    const clock = new Clock();
    const one = process(clock);
    await one.ask(limits);
    one.allowances.use({ keyId: 'key', limits }, { tokens: 1, cost: 0.999 });
    expect(await one.ask(limits)).not.toBeInstanceOf(OpenAiRefusal);
    one.allowances.use({ keyId: 'key', limits }, { tokens: 1, cost: 0.002 });
    const refusal = refusalOf(await one.ask(limits));
    expect(refusal.details).toMatchObject({ code: 'insufficient_quota', type: 'insufficient_quota' });
    clock.ms = Date.UTC(2026, 11, 1) - 1;
    expect(await one.ask(limits)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += 1;
    expect(await one.ask(limits)).not.toBeInstanceOf(OpenAiRefusal);
  });
});

describe('several processes', () => {
  let database: TestDatabase;
  let keys = 0;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  function two() {
    const clock = new Clock();
    const store = createAllowanceStore(database.sql);
    const keyId = `key-${++keys}`;
    const all = [process(clock, store), process(clock, store)] as const;
    return { clock, store, keyId, all, syncAll: () => Promise.all(all.map((each) => each.sync())) };
  }

  test('know of each other’s requests within a tick of telling, and each counts once', async () => {
    const { clock, keyId, all, syncAll, store } = two();
    const limits = { requests_per_minute: 60 };
    const [one, other] = all;
    for (let index = 0; index < 20; index++) await one.ask(limits, keyId);
    await one.sync();
    // It is asked for the first time: what others have used comes with it.
    expect(await other.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '39' });
    for (let index = 0; index < 9; index++) await other.ask(limits, keyId);
    await syncAll();
    await one.ask(limits, keyId);
    await syncAll();
    expect(await one.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '28' });
    await syncAll();
    expect(((await store.find(keyId))?.requestsAt ?? 0) - clock.ms).toBeCloseTo(32 * 1000, 1);
  });

  test('let through together what one may, over minutes of steady load', async () => {
    const { clock, keyId, all, syncAll } = two();
    const limits = { requests_per_minute: 120 };
    let answered = 0;
    const startMs = clock.ms;
    for (let step = 0; step < 4 * 60 * 4; step++) {
      for (const each of all)
        for (let index = 0; index < 3; index++)
          if (!((await each.ask(limits, keyId)) instanceof OpenAiRefusal)) answered += 1;
      await syncAll();
      clock.ms += 250;
    }
    const minutes = (clock.ms - startMs) / MINUTE;
    const allowed = 120 * (1 + minutes);
    // Between two tellings each may let through what the other has used.
    expect(answered).toBeLessThanOrEqual(allowed + 6);
    expect(answered).toBeGreaterThan(allowed * 0.95);
  });

  test('share tokens and money, and the month turns for both', async () => {
    const { clock, keyId, all, syncAll } = two();
    const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
    const [one, other] = all;
    for (const each of all) await each.ask(limits, keyId);
    one.allowances.use({ keyId, limits }, { tokens: 500, cost: 6 });
    other.allowances.use({ keyId, limits }, { tokens: 499, cost: 5 });
    await one.sync();
    await other.sync();
    expect(refusalOf(await other.ask(limits, keyId)).details.code).toBe('insufficient_quota');
    one.allowances.use({ keyId, limits }, { tokens: 1, cost: 0.01 });
    await one.sync();
    expect(refusalOf(await one.ask(limits, keyId)).details.code).toBe('insufficient_quota');
    clock.ms = Date.UTC(2026, 11, 1);
    expect(await one.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    one.allowances.use({ keyId, limits }, { tokens: 0, cost: 3 });
    await syncAll();
    // The other one has not been asked since.
    other.allowances.use({ keyId, limits }, { tokens: 0, cost: 4 });
    await syncAll();
    expect(await other.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    other.allowances.use({ keyId, limits }, { tokens: 0, cost: 3.5 });
    await syncAll();
    expect(refusalOf(await other.ask(limits, keyId)).details.code).toBe('insufficient_quota');
  });

  test('what was told late of the last month does not count in this one', async () => {
    const { clock, keyId, store } = two();
    const nothing = { requestsMs: 0, tokensMs: 0 };
    await store.add([{ keyId, ...nothing, month: 202612, spent: 1 }], clock.ms);
    const late = await store.add([{ keyId, ...nothing, month: 202611, spent: 50 }], clock.ms);
    expect(late.get(keyId)).toMatchObject({ month: 202612, spent: 1 });
  });

  test('a restart forgets nothing that was told', async () => {
    const { clock, keyId, all } = two();
    const limits = { requests_per_minute: 3, budget_per_month: 5 };
    await countAnswered({ ...all[0], ask: (given) => all[0].ask(given, keyId) }, limits, 3);
    all[0].allowances.use({ keyId, limits }, { tokens: 1, cost: 2 });
    await all[0].allowances.job.stop();
    const next = process(clock, createAllowanceStore(database.sql));
    expect(refusalOf(await next.ask(limits, keyId)).details.code).toBe('rate_limit_exceeded');
    expect((await createAllowanceStore(database.sql).find(keyId))?.spent).toBe(2);
  });

  test('while the database is away each counts alone, says so once, and tells all of it afterwards', async () => {
    const clock = new Clock();
    const real = createAllowanceStore(database.sql);
    const keyId = `key-${++keys}`;
    let away = true;
    /** A fake that fails as the driver does when nobody answers. */
    const gone: AllowanceStore = {
      find: (key) => (away ? Promise.reject(new Error('away')) : real.find(key)),
      add: (increases, nowMs) => (away ? Promise.reject(new Error('away')) : real.add(increases, nowMs)),
    };
    const limits = { requests_per_minute: 60, budget_per_month: 100 };
    const one = process(clock, gone);
    for (let index = 0; index < 10; index++) await one.ask(limits, keyId);
    one.allowances.use({ keyId, limits }, { tokens: 0, cost: 7 });
    await one.sync();
    await one.sync();
    expect(one.warnings).toHaveLength(1);
    expect(await one.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '49' });
    away = false;
    await one.sync();
    const used = await real.find(keyId);
    expect((used?.requestsAt ?? 0) - clock.ms).toBeCloseTo(11_000, 1);
    expect(used?.spent).toBe(7);
    away = true;
    await one.ask(limits, keyId);
    await one.sync();
    expect(one.warnings).toHaveLength(2);
  });

  test('a database that does not answer keeps the first request of a key for a second at most', async () => {
    const silent: AllowanceStore = { find: () => new Promise(() => {}), add: () => new Promise(() => {}) };
    const one = process(new Clock(), silent);
    const startedAt = performance.now();
    expect(await one.ask({ requests_per_minute: 5 })).not.toBeInstanceOf(OpenAiRefusal);
    expect(performance.now() - startedAt).toBeLessThan(3000);
  });

  test('a thousand keys are told in one statement', async () => {
    const store = createAllowanceStore(database.sql);
    const increases = Array.from({ length: 1000 }, (_, index) => ({
      ...{ keyId: `many-${index}`, requestsMs: 1000, tokensMs: 0, month: 202611, spent: 0.1 },
    }));
    expect((await store.add(increases, START)).size).toBe(1000);
    const again = await store.add(increases, START);
    expect(again.get('many-7')).toMatchObject({ requestsAt: START + 2000, spent: 0.2 });
  });
});
