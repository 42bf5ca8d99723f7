// Limits of keys across processes: what one has used and reserved, the others know a moment later, and it counts once, whatever becomes
// of answers, of processes and of clocks. Several instances on one Postgres.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/core/errors.ts';
import type { KeyLimits } from '../../src/core/principal.ts';
import { NOTHING_USED } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_FRESH_MS, ALLOWANCE_LEASE_MS, ALLOWANCE_RECOVER_MS } from '../../src/gateway/limits.ts';
import { type AllowanceStore, createAllowanceStore } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import {
  Clock,
  type LimitedProcess,
  limitedProcess,
  MINUTE,
  type Running,
  read,
  refusalOf,
  twoProcesses,
} from './limited-process.ts';

const database = await shared(testDatabase());

const two = () => twoProcesses(database.sql);
const spend = (cost: number) => ({ tokens: 0, completionTokens: 0, cost });
const BUDGET: KeyLimits = { budget_per_month: 10 };

describe('what others have used', () => {
  test('is known when a key is asked for the first time, and a moment later from then on; each request counts once', async () => {
    const { keyId, all, syncAll } = two();
    const limits = { requests_per_minute: 60 };
    const [one, other] = all;
    for (let index = 0; index < 20; index++) await one.ask(limits, keyId);
    await one.sync();
    expect(await other.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '39' });
    for (let index = 0; index < 9; index++) await other.ask(limits, keyId);
    await syncAll();
    await one.ask(limits, keyId);
    await syncAll();
    expect(await one.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '28' });
  });

  test('lets all of them through together what one may, over minutes of steady load', async () => {
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
    // Between two exchanges each may let through what the other has used.
    expect(answered).toBeLessThanOrEqual(allowed + 6);
    expect(answered).toBeGreaterThan(allowed * 0.95);
  });

  test('is refilled for a process that was idle meanwhile', async () => {
    const { clock, keyId, all } = two();
    const limits = { requests_per_minute: 60 };
    const [one, idle] = all;
    await idle.ask(limits, keyId);
    await idle.sync();
    for (let second = 0; second < 120; second++) {
      await one.ask(limits, keyId);
      await one.sync();
      clock.ms += 2000;
    }
    expect(await idle.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '59' });
  });

  test('is tokens and money, too, and the month turns for both', async () => {
    const { clock, keyId, all, syncAll } = two();
    const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
    const [one, other] = all;
    const run = async (asked: LimitedProcess) => asked.run(limits, NOTHING_USED, keyId);
    const use = (running: Running, tokens: number, cost: number): void =>
      running.settle({ tokens, cost, completionTokens: 0 });
    // All of them run before anything is used up.
    const [first, second, late] = [await run(one), await run(other), await run(one)];
    use(first, 500, 6);
    use(second, 499, 5);
    await syncAll();
    await syncAll();
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

  test('is read before a process that was idle admits anything', async () => {
    const { clock, keyId, all } = two();
    const [one, idle] = all;
    await idle.use(BUDGET, { tokens: 0, cost: 0.01 }, keyId);
    await idle.sync();
    await one.use(BUDGET, { tokens: 0, cost: 10 }, keyId);
    await one.sync();
    clock.ms += MINUTE;
    const answers = await Promise.all(Array.from({ length: 30 }, () => idle.ask(BUDGET, keyId)));
    expect(answers.filter((answer) => !(answer instanceof OpenAiRefusal))).toEqual([]);
  });

  test('a thousand keys are exchanged in one statement', async () => {
    const { store, clock } = two();
    const month = (await read(store, 'many-0')).month;
    const send = (counterId: string) =>
      store.exchange(
        Array.from({ length: 1000 }, (_, index) => ({
          keyId: `many-${index}`,
          hasNews: true,
          recordsOf: null,
          report: {
            counterId,
            month,
            requestsMs: 1000,
            tokensMs: 0,
            spent: 0.1,
            reserved: { tokensMs: 5, cost: 0.5 },
            requestsLeftMs: 900,
            tokensLeftMs: 0,
          },
        })),
      );
    expect((await send('one')).size).toBe(1000);
    expect((await send('other')).get('many-7')).toEqual({
      month: 202611,
      monthLeftMs: Date.UTC(2026, 11, 1) - clock.ms,
      requestsMs: 1000,
      tokensMs: 0,
      spent: 0.1,
      requestsLeftMs: 900,
      tokensLeftMs: 0,
      recorded: null,
      reserved: { tokensMs: 5, cost: 0.5 },
    });
  });
});

describe('what requests that run have reserved', () => {
  test('the other processes know, and what was given back is free for all', async () => {
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
      type: 'tokens',
      code: 'rate_limit_exceeded',
      headers: { 'x-ratelimit-remaining-tokens': '0' },
    });
    running.settle(NOTHING_USED);
    await one.sync();
    await other.sync();
    expect(await other.begin(limits, { tokens: 10, cost: 1 }, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    admitted.settle(NOTHING_USED);
  });

  test('a process knows that is asked for the first time, and says that it may be given back', async () => {
    const { keyId, all } = two();
    const [one, other] = all;
    await one.run(BUDGET, { tokens: 0, cost: 10 }, keyId);
    await one.sync();
    const refusal = refusalOf(await other.begin(BUDGET, { tokens: 0, cost: 1 }, keyId));
    expect(refusal.details.code).toBe('insufficient_quota');
    expect(refusal.details.headers).toBeUndefined();
    expect(refusal.retryAfterSeconds).toBe(1);
  });

  test('stays reserved for as long as they run', async () => {
    const { clock, keyId, all, syncAll } = two();
    const [one, other] = all;
    const running = await one.run(BUDGET, { tokens: 0, cost: 10 }, keyId);
    for (let seconds = 0; seconds < 60; seconds++) {
      await syncAll();
      expect(await other.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
      clock.ms += 1000;
    }
    running.settle(NOTHING_USED);
    await syncAll();
    await syncAll();
    expect(await other.ask(BUDGET, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  });

  test('lets processes overdraw by no more than what arrives between two exchanges', async () => {
    const { clock, keyId, all, syncAll } = two();
    const limits = { budget_per_month: 100 };
    const running: Running[] = [];
    // Each process is asked ten times a second for a minute; nothing ends meanwhile.
    for (let step = 0; step < 600; step++) {
      for (const each of all) {
        const begun = await each.begin(limits, { tokens: 0, cost: 1 }, keyId);
        if (!(begun instanceof OpenAiRefusal)) running.push(begun);
      }
      if (step % 2 === 1) await syncAll();
      clock.ms += 100;
    }
    // Between two exchanges each process is asked twice.
    expect(running.length).toBeGreaterThanOrEqual(100);
    expect(running.length).toBeLessThanOrEqual(104);
    for (const each of running) each.settle(spend(1));
    await syncAll();
    for (const each of all) expect(await each.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
  });
});

describe('a process that ends', () => {
  test('leaves its use to the next one', async () => {
    const { clock, keyId, all, store } = two();
    const limits = { requests_per_minute: 3, budget_per_month: 5 };
    for (let index = 0; index < 2; index++) await all[0].ask(limits, keyId);
    await all[0].use(limits, { tokens: 1, cost: 2 }, keyId);
    await all[0].allowances.job.stop();
    const next = limitedProcess(clock, store);
    expect(refusalOf(await next.ask(limits, keyId)).details.code).toBe('rate_limit_exceeded');
    expect((await read(store, keyId)).spent).toBe(2);
  });

  test('by a kill: its reservations are void after the lease, and its use counts', async () => {
    const { clock, keyId, all } = two();
    const [died, other] = all;
    await died.use(BUDGET, { tokens: 0, cost: 4 }, keyId);
    await died.run(BUDGET, { tokens: 0, cost: 6 }, keyId);
    await died.sync();
    expect(await other.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += ALLOWANCE_LEASE_MS;
    await other.use(BUDGET, { tokens: 0, cost: 6 }, keyId);
    expect(await other.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
  });

  test('before it has told of its last use: that comes from the usage records, and counts once', async () => {
    const { clock, keyId, all } = two();
    const [died, other] = all;
    await other.use(BUDGET, { tokens: 0, cost: 1 }, keyId);
    await other.sync();
    await died.use(BUDGET, { tokens: 0, cost: 4 }, keyId);
    await died.sync();
    await died.use(BUDGET, { tokens: 0, cost: 5 }, keyId);
    // It dies here. Nearly all of it is in the sums of the records, which are of this month, of its first hour, and of the one before.
    await database.sql`
      INSERT INTO model_usage (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
        prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms)
      SELECT 'w', hour, ${keyId}, 'chat', 'm', 't', 'ok', 1, 0, 1, 1, cost, 1, 0, 0
      FROM (VALUES ('2026-11-30T23:00:00'::timestamp, 5.5), ('2026-11-01', 4), ('2026-10-31T23:00:00', 100))
        AS a (hour, cost)`;
    clock.ms += ALLOWANCE_RECOVER_MS;
    expect(await other.ask(BUDGET, keyId)).not.toBeInstanceOf(OpenAiRefusal);
    // Its very last record is stored.
    await database.sql`
      UPDATE model_usage SET cost = cost + 0.5 WHERE key_id = ${keyId} AND hour = '2026-11-30T23:00:00'`;
    clock.ms += ALLOWANCE_RECOVER_MS;
    expect(await other.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
  });
});

test('what was used while the sums of all are on their way counts beside them, and the month may turn meanwhile', async () => {
  const { clock, keyId, store } = two();
  let late: PromiseWithResolvers<void> | undefined;
  /** The real store, whose answer comes late. */
  const slow: AllowanceStore = {
    ...store,
    async exchange(sent) {
      const known = await store.exchange(sent);
      await late?.promise;
      return known;
    },
  };
  const limits = { budget_per_month: 7 };
  const one = limitedProcess(clock, slow);
  const running = [await one.run(limits, NOTHING_USED, keyId), await one.run(limits, NOTHING_USED, keyId)];
  late = Promise.withResolvers();
  const syncing = one.sync();
  running[0]?.settle(spend(8));
  late.resolve();
  await syncing;
  expect(refusalOf(await one.ask(limits, keyId)).details.code).toBe('insufficient_quota');
  // What is settled before the turn is known to the process belongs to the month that it knew.
  clock.ms = Date.UTC(2026, 11, 1) - 1;
  running[1]?.settle(spend(6));
  clock.ms += 1;
  await one.use(limits, { tokens: 0, cost: 3 }, keyId);
  await one.sync();
  expect(await read(store, keyId)).toMatchObject({ month: 202612, spent: 3 });
  await one.use(limits, { tokens: 0, cost: 4 }, keyId);
  expect(refusalOf(await one.ask(limits, keyId)).details.code).toBe('insufficient_quota');
});

test('an exchange whose answer is lost counts once when it is made again', async () => {
  await using proxy = await startTcpProxy(database.url);
  const clock = new Clock();
  const sql = connectTo(proxy.url, { connectionsMax: 1 });
  await using _ = { [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
  const one = limitedProcess(clock, createAllowanceStore(sql, { now: () => clock.ms }));
  await one.use(BUDGET, { tokens: 0, cost: 4 }, 'lost');
  const lost = proxy.loseNextAnswer(/\0{2}/);
  await one.sync();
  await lost;
  await one.sync();
  expect(await read(createAllowanceStore(database.sql, { now: () => clock.ms }), 'lost')).toMatchObject({
    spent: 4,
    reserved: { cost: 0 },
  });
  await one.use(BUDGET, { tokens: 0, cost: 6 }, 'lost');
  expect(await one.ask(BUDGET, 'lost')).toBeInstanceOf(OpenAiRefusal);
});

test('machines whose clocks differ by more than a lease, or by a month, count the same', async () => {
  const { clock, keyId, all, store } = two();
  const [one] = all;
  const astray = new Clock();
  astray.ms += 40 * 86_400_000;
  // Its own clock says another month; the database's counts.
  const other = limitedProcess(astray, store);
  const running = await other.run(BUDGET, { tokens: 0, cost: 10 }, keyId);
  await other.sync();
  expect(await one.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
  running.settle(spend(10));
  await other.sync();
  clock.ms += ALLOWANCE_FRESH_MS;
  expect(await one.ask(BUDGET, keyId)).toBeInstanceOf(OpenAiRefusal);
  expect(await read(store, keyId)).toMatchObject({ month: 202611, spent: 10 });
});

test('counters of months that are long over are deleted, and no others', async () => {
  const { clock, keyId, all, store } = two();
  const [one] = all;
  const monthsOf = async () =>
    (
      await database.sql<{ month: number }[]>`
        SELECT month FROM model_allowances WHERE key_id = ${keyId} ORDER BY month`
    ).map(({ month }) => month);
  for (const month of [9, 10, 11]) {
    clock.ms = Date.UTC(2026, month, 2);
    await one.use(BUDGET, { tokens: 0, cost: 1 }, keyId);
    await one.sync();
  }
  await store.sweep();
  expect(await monthsOf()).toEqual([202611, 202612]);
});

describe('while the database is away', () => {
  const isUnavailable = async (asked: LimitedProcess, limits: KeyLimits, keyId: string): Promise<boolean> => {
    const failure: unknown = await asked.ask(limits, keyId).catch((error: unknown) => error);
    return failure instanceof ServiceError && failure.kind === 'unavailable';
  };

  test('no limited key is answered, which is said once; what ran meanwhile is told then', async () => {
    const { clock, store: real, keyId } = two();
    let away = true;
    /** A fake that fails as the driver does when the server does not answer. */
    const gone: AllowanceStore = {
      ...real,
      exchange: (sent) => (away ? Promise.reject(new Error('away')) : real.exchange(sent)),
    };
    const limits = { requests_per_minute: 60, budget_per_month: 100 };
    const one = limitedProcess(clock, gone);
    // Not even the first time: the use is unknown.
    expect(await isUnavailable(one, limits, keyId)).toBe(true);
    expect(one.warnings).toHaveLength(1);
    away = false;
    const running = await one.run(limits, NOTHING_USED, keyId);
    away = true;
    clock.ms += ALLOWANCE_FRESH_MS - 1;
    expect(await one.ask(limits, keyId)).toMatchObject({ 'x-ratelimit-remaining-requests': '58' });
    clock.ms += 1;
    expect(await isUnavailable(one, limits, keyId)).toBe(true);
    running.settle(spend(7));
    await one.sync();
    expect(one.warnings).toHaveLength(2);
    away = false;
    await one.sync();
    expect(await read(real, keyId)).toMatchObject({ spent: 7, requestsMs: 2000 });
    expect(await one.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  });

  test('a database that does not answer keeps a request of a limited key for some seconds at most, and none without', async () => {
    const never = () => new Promise<never>(() => {});
    const one = limitedProcess(new Clock(), { exchange: never, sweep: never });
    expect(await isUnavailable(one, { requests_per_minute: 5 }, 'key')).toBe(true);
    expect(await one.ask({})).toEqual({});
  });
});

describe('whatever becomes of answers and processes', () => {
  const PROCESSES = 3;
  const process = fc.nat(PROCESSES - 1);
  const cost = fc.integer({ min: 0, max: 6 });
  const pause = fc.oneof(fc.nat(200), fc.nat(1000), fc.constant(ALLOWANCE_LEASE_MS + 1));
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('begin' as const), process, cost }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('end' as const), process, cost, which: fc.nat(50) }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('sync' as const), process }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), process }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), process }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: pause }) },
  );
  const sum = (costs: Iterable<number>): number => [...costs].reduce((total, each) => total + each, 0);

  /** A process, and what it must know: its own use, and that of the others as it was told when it last heard from the database. */
  class Instance {
    readonly running = new Map<Running, number>();
    spent = 0;
    losesAnswer = false;
    told = { spent: 0, reserved: 0, atMs: Number.NEGATIVE_INFINITY };
    known = { others: 0, atMs: Number.NEGATIVE_INFINITY };
    readonly limited: LimitedProcess;

    constructor(clock: Clock, instances: Instance[]) {
      const real = createAllowanceStore(database.sql, { now: () => clock.ms });
      instances.push(this);
      this.limited = limitedProcess(clock, {
        ...real,
        exchange: async (sent) => {
          const found = await real.exchange(sent);
          if (sent.some(({ hasNews }) => hasNews))
            this.told = { spent: this.spent, reserved: sum(this.running.values()), atMs: clock.ms };
          const others = instances.filter((each) => each !== this);
          const reserved = others.filter(({ told }) => told.atMs + ALLOWANCE_LEASE_MS > clock.ms);
          if (this.losesAnswer) {
            this.losesAnswer = false;
            throw new Error('a fault of the test: the answer is lost');
          }
          this.known = {
            others:
              sum(others.map(({ told }) => told.spent)) + sum(reserved.map(({ told }) => told.reserved)),
            atMs: clock.ms,
          };
          return found;
        },
      });
    }
  }

  test('a request is admitted if the budget has room by what was told a quarter of a second ago, and what was used counts once', async () => {
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const clock = new Clock();
        // The month does not turn meanwhile.
        clock.ms -= 86_400_000;
        const keyId = `any-${++keys}`;
        const instances: Instance[] = [];
        const living = Array.from({ length: PROCESSES }, () => new Instance(clock, instances));
        for (const each of steps) {
          if (each.kind === 'wait') {
            clock.ms += each.ms;
            continue;
          }
          const instance = living[each.process] as Instance;
          const { limited, running } = instance;
          if (each.kind === 'lose') instance.losesAnswer = true;
          else if (each.kind === 'sync') await limited.sync();
          else if (each.kind === 'crash') living[each.process] = new Instance(clock, instances);
          else if (each.kind === 'end') {
            const [ending] = [...running.keys()].slice(each.which % Math.max(1, running.size));
            if (ending === undefined) continue;
            running.delete(ending);
            ending.settle(spend(each.cost));
            instance.spent += each.cost;
          } else {
            const begun = await limited.begin(BUDGET, { tokens: 0, cost: each.cost }, keyId);
            expect(instance.known.atMs).toBeGreaterThan(clock.ms - ALLOWANCE_FRESH_MS);
            const counted = instance.spent + instance.known.others + sum(running.values());
            const isAdmitted = !(begun instanceof OpenAiRefusal);
            expect({ counted, isAdmitted }).toEqual({ counted, isAdmitted: counted < 10 });
            if (!(begun instanceof OpenAiRefusal)) running.set(begun, each.cost);
          }
        }
        for (const { limited, running } of living) {
          for (const reservation of running.keys()) reservation.settle(NOTHING_USED);
          running.clear();
          await limited.sync();
          await limited.sync();
        }
        // What crashed processes had reserved is void, and what nobody used is there again.
        clock.ms += ALLOWANCE_LEASE_MS;
        const store = createAllowanceStore(database.sql, { now: () => clock.ms });
        const spent = sum(instances.map(({ told }) => told.spent));
        expect(await read(store, keyId)).toMatchObject({ spent, reserved: { tokensMs: 0, cost: 0 } });
        const answer = await (living[0] as Instance).limited.ask(BUDGET, keyId);
        expect(answer instanceof OpenAiRefusal).toBe(spent >= 10);
      }),
      { numRuns: 150, seed: Number(Bun.env['FC_SEED'] ?? 20261122) },
    );
  });
});
