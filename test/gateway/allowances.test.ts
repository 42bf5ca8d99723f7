// Limits of keys: exactly as many as they say, refilled evenly, shared by all processes.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/core/errors.ts';
import type { KeyLimits } from '../../src/core/principal.ts';
import type { Amount } from '../../src/gateway/allowance.ts';
import { createAllowances, NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_FRESH_MS, ALLOWANCE_LEASE_MS } from '../../src/gateway/limits.ts';
import {
  type AllowanceStore,
  createAllowanceStore,
  type Shared,
  type Told,
} from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';
import { machineNow } from '../support/machine-time.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 30, 23, 50);

class Clock {
  ms = START;
}

const NOTHING_TOLD = {
  ...{ hasNews: false, requestsMs: 0, tokensMs: 0, month: 0, spent: 0 },
  reserved: { tokensMs: 0, cost: 0 },
};

let readers = 0;
/** What a process learns that asks for the first time. */
async function read(store: AllowanceStore, keyId: string): Promise<Shared> {
  const told = [{ ...NOTHING_TOLD, keyId }];
  const known = await store.share({
    processId: `reader-${++readers}`,
    number: 1,
    told,
    ageMs: 0,
    leaseMs: 1,
  });
  const shared = known?.get(keyId);
  if (shared === undefined) throw new Error('nothing is known of it');
  return shared;
}

function process(clock: Clock, store: AllowanceStore = memoryStore(clock)) {
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...given: unknown[]) => void warnings.push(given) };
  const allowances = createAllowances({ store, log, now: () => clock.ms });
  const begin = async (
    limits: KeyLimits,
    estimate: Amount,
    keyId = 'key',
  ): Promise<Reservation | OpenAiRefusal> => {
    try {
      return await allowances.reserve({ keyId, limits }, () => estimate);
    } catch (error) {
      if (error instanceof OpenAiRefusal) return error;
      throw error;
    }
  };
  return {
    allowances,
    warnings,
    begin,
    sync: async (): Promise<void> => allowances.job.settle?.(),
    /** The headers, or the refusal, of a request that uses nothing. */
    async ask(limits: KeyLimits, keyId = 'key'): Promise<Record<string, string> | OpenAiRefusal> {
      const begun = await begin(limits, NOTHING_USED, keyId);
      if (begun instanceof OpenAiRefusal) return begun;
      begun.settle(NOTHING_USED);
      return begun.headers();
    },
    /** A request that runs until the test settles it. */
    async run(limits: KeyLimits, estimate: Amount, keyId = 'key'): Promise<Reservation> {
      const begun = await begin(limits, estimate, keyId);
      if (begun instanceof OpenAiRefusal) throw begun;
      return begun;
    },
    async use(limits: KeyLimits, used: Amount, keyId = 'key'): Promise<void> {
      const begun = await begin(limits, NOTHING_USED, keyId);
      if (begun instanceof OpenAiRefusal) throw begun;
      begun.settle({ ...used, completionTokens: 0 });
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

function refusalOf(answer: Record<string, string> | Reservation | OpenAiRefusal): OpenAiRefusal {
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
    await one.use(limits, { tokens: 599, cost: 0 });
    expect(await one.ask(limits)).toMatchObject({ 'x-ratelimit-remaining-tokens': '1' });
    await one.use(limits, { tokens: 601, cost: 0 });
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
    await one.use(both, { tokens: 600, cost: 0 });
    for (let index = 0; index < 5; index++) expect(await one.ask(both)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += 1000;
    expect(await one.ask(both)).not.toBeInstanceOf(OpenAiRefusal);
  });
});

test('of more keys than are remembered the idle ones go, and none that runs or that others have not been told of', async () => {
  const clock = new Clock();
  const found: string[] = [];
  const remembering = memoryStore(clock);
  const store: AllowanceStore = {
    ...remembering,
    share(batch) {
      // Of which nothing is known.
      found.push(...batch.told.filter(({ month }) => month === 0).map(({ keyId }) => keyId));
      return remembering.share(batch);
    },
  };
  const allowances = createAllowances({ store, log: silentLog, now: () => clock.ms, allowancesMax: 3 });
  const limits = { requests_per_minute: 10 };
  const begin = (keyId: string) => allowances.reserve({ keyId, limits }, () => NOTHING_USED);
  for (const keyId of ['idle', 'running']) {
    const reservation = await begin(keyId);
    if (keyId === 'idle') reservation.settle(NOTHING_USED);
  }
  await allowances.job.settle?.();
  (await begin('unsynced')).settle(NOTHING_USED);
  clock.ms += MINUTE + 1;
  (await begin('new')).settle(NOTHING_USED);
  found.length = 0;
  for (const keyId of ['running', 'unsynced', 'new', 'idle']) await begin(keyId);
  expect(found).toEqual(['idle']);
});

describe('a budget a month', () => {
  const limits = { budget_per_month: 1 };
  test('is spent up, and there again when the month turns (UTC)', async () => {
    const clock = new Clock();
    const one = process(clock);
    await one.ask(limits);
    await one.use(limits, { tokens: 1, cost: 0.999 });
    expect(await one.ask(limits)).not.toBeInstanceOf(OpenAiRefusal);
    await one.use(limits, { tokens: 1, cost: 0.002 });
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
    const store = createAllowanceStore(database.sql, { now: () => clock.ms });
    const keyId = `key-${++keys}`;
    const all = [process(clock, store), process(clock, store)] as const;
    return { clock, store, keyId, all, syncAll: () => Promise.all(all.map((each) => each.sync())) };
  }

  test('know of each other’s requests within a tick of telling, and each counts once', async () => {
    const { keyId, all, syncAll, store } = two();
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
    expect((await read(store, keyId)).requestsMs).toBeCloseTo(32 * 1000, 1);
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
    const run = async (asked: Process): Promise<Reservation> => asked.run(limits, NOTHING_USED, keyId);
    const use = (running: Reservation, tokens: number, cost: number): void =>
      running.settle({ tokens, cost, completionTokens: 0 });
    // All of them run before anything is used up.
    const [first, second, late] = [await run(one), await run(other), await run(one)];
    use(first, 500, 6);
    use(second, 499, 5);
    await one.sync();
    await other.sync();
    expect(refusalOf(await other.ask(limits, keyId)).details.code).toBe('insufficient_quota');
    use(late, 1, 0.01);
    await one.sync();
    expect(refusalOf(await one.ask(limits, keyId)).details.code).toBe('insufficient_quota');
    clock.ms = Date.UTC(2026, 11, 1);
    expect(await one.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    await one.use(limits, { tokens: 0, cost: 3 }, keyId);
    await syncAll();
    // The other one has not been asked since.
    await other.use(limits, { tokens: 0, cost: 4 }, keyId);
    await syncAll();
    await other.use(limits, { tokens: 0, cost: 3.5 }, keyId);
    await syncAll();
    expect(refusalOf(await other.ask(limits, keyId)).details.code).toBe('insufficient_quota');
  });

  const tellSpent = (store: AllowanceStore, keyId: string, told: Pick<Told, 'month' | 'spent'>) =>
    store.share({
      ...{ processId: `teller-${++readers}`, number: 1, ageMs: 0, leaseMs: ALLOWANCE_LEASE_MS },
      told: [{ ...NOTHING_TOLD, keyId, hasNews: true, ...told }],
    });

  test('what was told late of the last month does not count in this one', async () => {
    const { clock, keyId, store } = two();
    clock.ms = Date.UTC(2026, 11, 1);
    await tellSpent(store, keyId, { month: 202612, spent: 1 });
    await tellSpent(store, keyId, { month: 202611, spent: 50 });
    expect(await read(store, keyId)).toMatchObject({ month: 202612, spent: 1 });
  });

  test('what was being told while the month turned is not taken off the new month, nor added to it', async () => {
    const { clock, keyId, store } = two();
    const told: number[] = [];
    const begun = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    /** The real store, whose answer comes late. */
    const late: AllowanceStore = {
      ...store,
      async share(batch) {
        const known = await store.share(batch);
        const spent = batch.told.reduce((sum, each) => sum + each.spent, 0);
        if (spent === 0) return known;
        told.push(spent);
        begun.resolve();
        await answered.promise;
        return known;
      },
    };
    const limits = { budget_per_month: 7 };
    const one = process(clock, late);
    const running = [await one.run(limits, NOTHING_USED, keyId), await one.run(limits, NOTHING_USED, keyId)];
    running[0]?.settle({ tokens: 0, completionTokens: 0, cost: 6 });
    const syncing = one.sync();
    await begun.promise;
    running[1]?.settle({ tokens: 0, completionTokens: 0, cost: 2 });
    answered.resolve();
    await syncing;
    expect(told).toEqual([6, 2]);
    // It is not told yet when the month turns.
    const last = one.run(limits, NOTHING_USED, keyId);
    expect(await last.catch((error: unknown) => error)).toBeInstanceOf(OpenAiRefusal);
    clock.ms = Date.UTC(2026, 11, 1);
    await one.use(limits, { tokens: 0, cost: 1 }, keyId);
    await one.sync();
    expect(told).toEqual([6, 2, 1]);
    expect(await read(store, keyId)).toMatchObject({ month: 202612, spent: 1 });
    // Nor does the new month hear of what was told of the old one when it had turned.
    await one.use(limits, { tokens: 0, cost: 2 }, keyId);
    clock.ms = Date.UTC(2027, 0, 1);
    await one.use(limits, { tokens: 0, cost: 3 }, keyId);
    await one.sync();
    expect(await read(store, keyId)).toMatchObject({ month: 202701, spent: 3 });
  });

  test('what a process uses while the totals of all are on their way counts beside them', async () => {
    const { clock, keyId, store } = two();
    const begun = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let isLate = false;
    /** The real store, whose answer comes late. */
    const late: AllowanceStore = {
      ...store,
      async share(batch) {
        const known = await store.share(batch);
        if (!isLate) return known;
        begun.resolve();
        await answered.promise;
        return known;
      },
    };
    const limits = { budget_per_month: 7 };
    const one = process(clock, late);
    const running = await one.run(limits, NOTHING_USED, keyId);
    isLate = true;
    clock.ms += ALLOWANCE_FRESH_MS;
    const asked = one.ask(limits, keyId);
    await begun.promise;
    running.settle({ tokens: 0, completionTokens: 0, cost: 8 });
    answered.resolve();
    expect(refusalOf(await asked).details.code).toBe('insufficient_quota');
  });

  test('a restart forgets nothing that was told', async () => {
    const { clock, keyId, all, store } = two();
    const limits = { requests_per_minute: 3, budget_per_month: 5 };
    await countAnswered({ ...all[0], ask: (given) => all[0].ask(given, keyId) }, limits, 2);
    await all[0].use(limits, { tokens: 1, cost: 2 }, keyId);
    await all[0].allowances.job.stop();
    const next = process(clock, store);
    expect(refusalOf(await next.ask(limits, keyId)).details.code).toBe('rate_limit_exceeded');
    expect((await read(store, keyId)).spent).toBe(2);
  });

  const isRefusedBySentence = async (asked: Process, limits: KeyLimits, keyId: string): Promise<boolean> => {
    const failure: unknown = await asked.ask(limits, keyId).catch((error: unknown) => error);
    return failure instanceof ServiceError && failure.kind === 'unavailable';
  };

  test('while the database is away no limited key is answered, which is said once; what ran meanwhile is told then', async () => {
    const { clock, store: real, keyId } = two();
    let away = true;
    /** A fake that fails as the driver does when nobody answers. */
    const gone: AllowanceStore = {
      share: (told) => (away ? Promise.reject(new Error('away')) : real.share(told)),
      recover: (keyIds) => (away ? Promise.reject(new Error('away')) : real.recover(keyIds)),
      sweep: async () => undefined,
    };
    const limits = { requests_per_minute: 60, budget_per_month: 100 };
    const one = process(clock, gone);
    // Not even the first time: nobody knows what was used.
    expect(await isRefusedBySentence(one, limits, keyId)).toBe(true);
    expect(one.warnings).toHaveLength(1);
    away = false;
    const running = await one.run(limits, NOTHING_USED, keyId);
    away = true;
    clock.ms += ALLOWANCE_FRESH_MS - 1;
    expect(await one.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '58' });
    clock.ms += 1;
    expect(await isRefusedBySentence(one, limits, keyId)).toBe(true);
    running.settle({ tokens: 0, completionTokens: 0, cost: 7 });
    await one.sync();
    expect(one.warnings).toHaveLength(2);
    away = false;
    await one.sync();
    const known = await read(real, keyId);
    expect(known.spent).toBe(7);
    expect(known.requestsMs).toBeCloseTo(2000 - ALLOWANCE_FRESH_MS, 1);
    expect(await one.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  }, 20_000);

  test('a database that does not answer keeps a request of a limited key for some seconds at most, and none without', async () => {
    const never = () => new Promise<never>(() => {});
    const silent: AllowanceStore = { recover: never, share: never, sweep: never };
    const one = process(new Clock(), silent);
    const startedAt = machineNow();
    expect(await isRefusedBySentence(one, { requests_per_minute: 5 }, 'key')).toBe(true);
    expect(machineNow() - startedAt).toBeLessThan(10_000);
    expect(await one.ask({})).toEqual({});
  }, 20_000);

  test('a thousand keys are told in one statement', async () => {
    const { store } = two();
    const told = Array.from({ length: 1000 }, (_, index) => ({
      ...{ keyId: `many-${index}`, hasNews: true, requestsMs: 1000, tokensMs: 0, month: 202611, spent: 0.1 },
      reserved: { tokensMs: 5, cost: 0.5 },
    }));
    const batch = { number: 1, told, ageMs: 0, leaseMs: ALLOWANCE_LEASE_MS };
    expect((await store.share({ processId: 'one', ...batch }))?.size).toBe(1000);
    const again = await store.share({ processId: 'other', ...batch });
    expect(again?.get('many-7')).toEqual({
      ...{ requestsMs: 2000, tokensMs: 0, month: 202611, spent: 0.2, monthLeftMs: 600_000 },
      elsewhere: { tokensMs: 5, cost: 0.5 },
    });
  });

  test('know of each other’s reservations, and what was given back is free for both', async () => {
    const { keyId, all, syncAll } = two();
    const [one, other] = all;
    const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
    await other.ask(limits, keyId);
    const running = await one.run(limits, { tokens: 1000, cost: 4 }, keyId);
    await one.sync();
    const admitted = await other.run(limits, { tokens: 10, cost: 1 }, keyId);
    await syncAll();
    const refusal = refusalOf(await other.begin(limits, { tokens: 10, cost: 1 }, keyId));
    expect(refusal.details).toMatchObject({
      ...{ type: 'tokens', code: 'rate_limit_exceeded' },
      headers: { 'x-ratelimit-remaining-tokens': '0' },
    });
    running.settle(NOTHING_USED);
    await one.sync();
    // The other one asks what has become of it, though nobody has asked it anything.
    await other.sync();
    expect(await other.begin(limits, { tokens: 10, cost: 1 }, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    admitted.settle(NOTHING_USED);
  });

  test('a process that is asked for the first time knows what the others have reserved', async () => {
    const { keyId, all } = two();
    const [one, other] = all;
    const limits = { budget_per_month: 10 };
    await one.run(limits, { tokens: 0, cost: 10 }, keyId);
    await one.sync();
    const refusal = refusalOf(await other.begin(limits, { tokens: 0, cost: 1 }, keyId));
    expect(refusal.details.code).toBe('insufficient_quota');
    // The budget is not used up: it may be given back.
    expect(refusal.details.headers).toBeUndefined();
    expect(refusal.retryAfterSeconds).toBe(1);
  });

  test('a request that runs for long stays reserved for the others', async () => {
    const { clock, keyId, all, syncAll } = two();
    const [one, other] = all;
    const limits = { budget_per_month: 10 };
    const running = await one.run(limits, { tokens: 0, cost: 10 }, keyId);
    for (let seconds = 0; seconds < 60; seconds++) {
      await syncAll();
      expect(await other.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
      clock.ms += 1000;
    }
    running.settle(NOTHING_USED);
    await syncAll();
    await syncAll();
    expect(await other.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  });

  test('what a process that died had reserved is void after the lease, and nothing of it is counted', async () => {
    const { clock, keyId, all, store } = two();
    const [died, other] = all;
    const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
    await other.ask(limits, keyId);
    await died.run(limits, { tokens: 1000, cost: 10 }, keyId);
    await died.sync();
    const running = await other.run(limits, { tokens: 1, cost: 0.1 }, keyId);
    await other.sync();
    expect(await other.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += ALLOWANCE_LEASE_MS;
    await other.sync();
    expect(await other.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    running.settle(NOTHING_USED);
    await other.sync();
    expect(await read(store, keyId)).toMatchObject({ spent: 0, elsewhere: { tokensMs: 0, cost: 0 } });
    await store.sweep();
    const [row] = await database.sql<{ left: number }[]>`
      SELECT count(*)::int AS left FROM model_reservations WHERE key_id = ${keyId}`;
    expect(row?.left).toBe(0);
  });

  test('overdraw by no more than what arrives between two tellings, however long requests run', async () => {
    const { clock, keyId, all, syncAll } = two();
    const limits = { budget_per_month: 100 };
    const running: Reservation[] = [];
    // Each process is asked ten times a second for a minute; nothing ends meanwhile.
    for (let step = 0; step < 600; step++) {
      for (const each of all) {
        const begun = await each.begin(limits, { tokens: 0, cost: 1 }, keyId);
        if (!(begun instanceof OpenAiRefusal)) running.push(begun);
      }
      if (step % 2 === 1) await syncAll();
      clock.ms += 100;
    }
    // Between two tellings, each process is asked twice.
    expect(running.length).toBeGreaterThanOrEqual(100);
    expect(running.length).toBeLessThanOrEqual(104);
    for (const each of running) each.settle({ tokens: 0, completionTokens: 0, cost: 1 });
    await syncAll();
    for (const each of all) expect(await each.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
  });
});

describe('what running requests may use', () => {
  const limits = { tokens_per_minute: 1000, budget_per_month: 1.5 };

  test('is reserved: of forty at once, as many are answered as the limit has room for, and one overdraws', async () => {
    const one = process(new Clock());
    const count = async (given: KeyLimits, estimate: Amount, keyId: string): Promise<number> => {
      const all = await Promise.all(Array.from({ length: 40 }, () => one.begin(given, estimate, keyId)));
      return all.filter((begun) => !(begun instanceof OpenAiRefusal)).length;
    };
    expect(await count({ tokens_per_minute: 1000 }, { tokens: 1000, cost: 0 }, 'a')).toBe(1);
    expect(await count({ budget_per_month: 1.5 }, { tokens: 0, cost: 1 }, 'b')).toBe(2);
    expect(await count({ tokens_per_minute: 1000 }, { tokens: 100, cost: 0 }, 'c')).toBe(10);
    // A request that may use more than the whole limit is answered where nothing is used yet.
    expect(await count({ tokens_per_minute: 1000 }, { tokens: 1e9, cost: 0 }, 'd')).toBe(1);
  });

  test('is not left, as the headers tell, until it is given back', async () => {
    const one = process(new Clock());
    const running = await one.run(limits, { tokens: 400, cost: 0.5 });
    expect(running.headers()).toMatchObject({
      ...{ 'x-ratelimit-remaining-tokens': '600', 'x-ratelimit-reset-tokens': '24s' },
    });
    running.settle({ tokens: 100, completionTokens: 0, cost: 0.1 });
    expect(running.headers()).toMatchObject({
      ...{ 'x-ratelimit-remaining-tokens': '900', 'x-ratelimit-reset-tokens': '6s' },
    });
  });

  test('of a request that used nothing is all given back, and given back once', async () => {
    const one = process(new Clock());
    const [first, second] = [
      await one.run(limits, { tokens: 900, cost: 1 }),
      await one.run(limits, { tokens: 900, cost: 1 }),
    ];
    first.settle(NOTHING_USED);
    first.settle({ tokens: 500, completionTokens: 0, cost: 1 });
    expect(second.headers()).toMatchObject({ 'x-ratelimit-remaining-tokens': '100' });
    second.settle(NOTHING_USED);
    expect(await one.ask(limits)).toMatchObject({ 'x-ratelimit-remaining-tokens': '1000' });
  });

  test('is refused for a second only, where what is used leaves room', async () => {
    const one = process(new Clock());
    await one.run(limits, { tokens: 1000, cost: 0 });
    const refusal = refusalOf(await one.begin(limits, { tokens: 1, cost: 0 }));
    expect(refusal.details).toMatchObject({ type: 'tokens', headers: { 'retry-after-ms': '1000' } });
    expect(refusal.message).toContain('reserved');
  });

  test('does not refill while it is reserved', async () => {
    const clock = new Clock();
    const one = process(clock);
    await one.run(limits, { tokens: 1000, cost: 0 });
    clock.ms += 10 * MINUTE;
    expect(await one.ask(limits)).toBeInstanceOf(OpenAiRefusal);
  });

  test('follows the key’s own completions, and forgets long ones little by little', async () => {
    const one = process(new Clock());
    const told: number[] = [];
    for (const completionTokens of [5000, ...Array<number>(60).fill(50)]) {
      const reserving = one.allowances.reserve({ keyId: 'key', limits }, (recent) => {
        told.push(recent);
        return NOTHING_USED;
      });
      (await reserving).settle({ ...NOTHING_USED, completionTokens });
    }
    expect(told[0]).toBe(0);
    expect(told[1]).toBe(5000);
    expect(told[2]).toBeLessThan(5000);
    expect(told.at(-1)).toBeLessThan(100);
  });

  test('without a limit of tokens or money nothing is estimated', async () => {
    const { allowances } = process(new Clock());
    const estimate = () => {
      throw new Error('estimated');
    };
    for (const given of [{}, { requests_per_minute: 5 }])
      (await allowances.reserve({ keyId: 'key', limits: given }, estimate)).settle(NOTHING_USED);
  });

  test('whatever begins and ends in whatever order: nothing is negative, and in the end only what was used counts', async () => {
    const amount = fc.record({ tokens: fc.nat(3000), cost: fc.double({ min: 0, max: 2, noNaN: true }) });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ begin: amount }) },
      { weight: 2, arbitrary: fc.record({ end: fc.nat(100), used: amount }) },
      { weight: 1, arbitrary: fc.record({ waitMs: fc.nat(20_000) }) },
    );
    const given = { tokens_per_minute: 5000, budget_per_month: 20 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), async (steps) => {
        const clock = new Clock();
        const store = memoryStore(clock);
        const one = process(clock, store);
        const running: Reservation[] = [];
        let spent = 0;
        const end = (reservation: Reservation, used: Amount): void => {
          spent += used.cost;
          reservation.settle({ ...used, completionTokens: 0 });
        };
        for (const each of steps) {
          if ('waitMs' in each) clock.ms += each.waitMs;
          else if ('begin' in each) {
            const begun = await one.begin(given, each.begin);
            if (begun instanceof OpenAiRefusal) continue;
            running.push(begun);
            const left = Number(begun.headers()['x-ratelimit-remaining-tokens']);
            expect(left).toBeGreaterThanOrEqual(0);
            expect(left).toBeLessThanOrEqual(5000);
          } else {
            const [ending] = running.splice(each.end % Math.max(1, running.length), 1);
            if (ending !== undefined) end(ending, each.used);
          }
          await one.sync();
          expect(store.of('key').tokensMs).toBeGreaterThanOrEqual(0);
          expect(store.of('key').cost).toBeGreaterThanOrEqual(0);
        }
        for (const each of running) end(each, NOTHING_USED);
        await one.sync();
        expect(store.of('key')).toMatchObject({ tokensMs: 0, cost: 0 });
        expect(store.of('key').spent).toBeCloseTo(spent, 9);
        // Once all is refilled, only the month's money is gone.
        clock.ms += 100 * MINUTE;
        const after = await one.begin(given, NOTHING_USED);
        if (store.of('key').spent >= 20) expect(after).toBeInstanceOf(OpenAiRefusal);
        else expect((after as Reservation).headers()['x-ratelimit-remaining-tokens']).toBe('5000');
      }),
      { numRuns: 100 },
    );
  });
});

/** A fake store in memory, of one process alone: what it was told. */
function memoryStore(
  clock: Clock,
): AllowanceStore & { of(keyId: string): Told['reserved'] & { spent: number } } {
  type Row = { requestsAt: number; tokensAt: number; spent: Map<number, number>; reserved: Told['reserved'] };
  const rows = new Map<string, Row>();
  const rowOf = (keyId: string): Row => {
    const row = rows.get(keyId) ?? {
      requestsAt: 0,
      tokensAt: 0,
      spent: new Map(),
      reserved: NOTHING_TOLD.reserved,
    };
    rows.set(keyId, row);
    return row;
  };
  const monthNow = (): number => {
    const at = new Date(clock.ms);
    return at.getUTCFullYear() * 100 + at.getUTCMonth() + 1;
  };
  return {
    recover: async () => undefined,
    sweep: async () => undefined,
    share: async ({ told, ageMs }) =>
      new Map(
        told.map(({ keyId, hasNews, requestsMs, tokensMs, month, spent, reserved }) => {
          const row = rowOf(keyId);
          row.requestsAt = Math.max(row.requestsAt, clock.ms - ageMs) + requestsMs;
          row.tokensAt = Math.max(row.tokensAt, clock.ms - ageMs) + tokensMs;
          row.spent.set(month, (row.spent.get(month) ?? 0) + spent);
          if (hasNews) row.reserved = reserved;
          const shared: Shared = {
            requestsMs: Math.max(0, row.requestsAt - clock.ms),
            tokensMs: Math.max(0, row.tokensAt - clock.ms),
            ...{ month: monthNow(), spent: row.spent.get(monthNow()) ?? 0 },
            monthLeftMs:
              Date.UTC(new Date(clock.ms).getUTCFullYear(), new Date(clock.ms).getUTCMonth() + 1) - clock.ms,
            elsewhere: NOTHING_TOLD.reserved,
          };
          return [keyId, shared];
        }),
      ),
    of: (keyId) => ({ ...rowOf(keyId).reserved, spent: rowOf(keyId).spent.get(monthNow()) ?? 0 }),
  };
}
