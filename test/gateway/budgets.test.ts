// Budgets hold across processes, whatever becomes of their answers, of the processes and of clocks: several instances, each
// with connections of its own, on one Postgres.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/core/errors.ts';
import { createAllowances, NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_FRESH_MS, ALLOWANCE_LEASE_MS, ALLOWANCE_RECOVER_MS } from '../../src/gateway/limits.ts';
import { type AllowanceStore, createAllowanceStore } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const BUDGET = 10;
const PROCESSES = 3;
const limits = { budget_per_month: BUDGET };

let database: TestDatabase;
const connections: Sql[] = [];
let keys = 0;
let readers = 0;

const connect = (url: string): Sql => {
  const sql = connectTo(url, { connectionsMax: 1 });
  connections.push(sql);
  return sql;
};

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await Promise.all(connections.map((sql) => sql.end({ timeout: 1 })));
  await database.drop();
});

class Clock {
  ms = Date.UTC(2026, 10, 22);
}

const spend = (cost: number) => ({ tokens: 0, completionTokens: 0, cost });

/** What becomes of the next statements of a process; a fault that the real database cannot be made to show at will. */
type Fault = 'none' | 'lose the answer' | 'fail before';

function start(sql: Sql, clock: Clock, onCounted: (hasNews: boolean) => void = () => undefined) {
  const real = createAllowanceStore(sql, { now: () => clock.ms });
  const faults = { next: 'none' as Fault };
  /** A fake round the real store, which fails as the driver does. */
  const faulty: AllowanceStore = {
    ...real,
    async share(batch) {
      if (faults.next === 'fail before') throw new Error('a fault of the test: not sent');
      const known = await real.share(batch);
      if (known !== undefined) onCounted(batch.told.some(({ hasNews }) => hasNews));
      if (faults.next === 'lose the answer') {
        faults.next = 'none';
        throw new Error('a fault of the test: the answer is lost');
      }
      return known;
    },
  };
  const allowances = createAllowances({ store: faulty, log: silentLog, now: () => clock.ms });
  const begin = async (keyId: string, cost: number): Promise<Reservation | 'refused' | 'away'> => {
    try {
      return await allowances.reserve({ keyId, limits }, () => ({ tokens: 0, cost }));
    } catch (error) {
      if (error instanceof OpenAiRefusal) return 'refused';
      if (error instanceof ServiceError && error.kind === 'unavailable') return 'away';
      throw error;
    }
  };
  return {
    begin,
    faults,
    sync: async (): Promise<void> => allowances.job.settle?.(),
    async spend(keyId: string, cost: number): Promise<string> {
      const begun = await begin(keyId, 0);
      if (typeof begun === 'string') return begun;
      begun.settle(spend(cost));
      return 'answered';
    },
  };
}

type Process = ReturnType<typeof start>;

/** What the database says was spent, and is reserved. */
async function read(keyId: string, clock: Clock) {
  const told = [
    {
      keyId,
      hasNews: false,
      requestsMs: 0,
      tokensMs: 0,
      month: 0,
      spent: 0,
      reserved: { tokensMs: 0, cost: 0 },
    },
  ];
  const known = await createAllowanceStore(database.sql, { now: () => clock.ms }).share({
    processId: `reader-${++readers}`,
    number: 1,
    told,
    ageMs: 0,
    leaseMs: 1,
  });
  return known?.get(keyId);
}

function several(count: number) {
  const clock = new Clock();
  const all = Array.from({ length: count }, () => start(connect(database.url), clock));
  return { clock, all, keyId: `key-${++keys}` };
}

test('a process that was idle learns what others have spent before it admits', async () => {
  const { clock, all, keyId } = several(2);
  const [one, idle] = all as [Process, Process];
  await idle.spend(keyId, 0.01);
  await idle.sync();
  await one.spend(keyId, BUDGET);
  await one.sync();
  clock.ms += 60_000;
  const answers = await Promise.all(Array.from({ length: 30 }, () => idle.spend(keyId, 0)));
  expect(answers).toEqual(Array<string>(30).fill('refused'));
});

test('where it cannot be looked up what was spent, nothing is admitted, and the next request may be', async () => {
  const { all, keyId } = several(1);
  const [one] = all as [Process];
  one.faults.next = 'fail before';
  expect(await one.spend(keyId, 1)).toBe('away');
  one.faults.next = 'none';
  expect(await one.spend(keyId, 1)).toBe('answered');
});

test('what is sent again because its answer was lost counts once', async () => {
  const { clock, all, keyId } = several(1);
  const [one] = all as [Process];
  await one.spend(keyId, 4);
  one.faults.next = 'lose the answer';
  await one.sync();
  await one.spend(keyId, 1);
  await one.sync();
  expect(await read(keyId, clock)).toMatchObject({ spent: 5 });
});

test('what is sent again counts once where the connection was reset before the answer came', async () => {
  await using proxy = await startTcpProxy(database.url);
  const clock = new Clock();
  const keyId = `key-${++keys}`;
  const one = start(connect(proxy.url), clock);
  await one.spend(keyId, 4);
  const lost = proxy.loseNextAnswer(/\0{2}/);
  await one.sync();
  await lost;
  await one.sync();
  await one.sync();
  expect(await read(keyId, clock)).toMatchObject({ spent: 4, elsewhere: { cost: 0 } });
  expect(await one.spend(keyId, 6)).toBe('answered');
  expect(await one.spend(keyId, 1)).toBe('refused');
});

test('what a process had not told when it died comes from the accounts, and counts once', async () => {
  const { clock, all, keyId } = several(2);
  const [died, other] = all as [Process, Process];
  await other.spend(keyId, 1);
  await other.sync();
  await died.spend(keyId, 4);
  await died.sync();
  await died.spend(keyId, 5);
  // It dies here. All of it is in the accounts, of this month and in part of one before.
  await database.sql`
    INSERT INTO model_usage (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
      prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms)
    SELECT 'w', hour, ${keyId}, 'chat', 'm', 't', 'ok', 1, 0, 1, 1, cost, 1, 0, 0
    FROM (VALUES ('2026-11-22T00:00:00'::timestamp, 6), ('2026-11-01', 4), ('2026-10-31T23:00:00', 100))
      AS a (hour, cost)`;
  clock.ms += ALLOWANCE_RECOVER_MS;
  expect(await other.spend(keyId, 0)).toBe('refused');
  expect(await read(keyId, clock)).toMatchObject({ spent: 10 });
  clock.ms += ALLOWANCE_RECOVER_MS;
  await other.spend(keyId, 0);
  expect(await read(keyId, clock)).toMatchObject({ spent: 10 });
});

test('machines whose clocks differ by more than a lease, or by a month, count the same', async () => {
  const { clock, all, keyId } = several(1);
  const [one] = all as [Process];
  const astray = new Clock();
  astray.ms += 40 * 86_400_000;
  const store = createAllowanceStore(connect(database.url), { now: () => clock.ms });
  // Its own clock says another month; the database's counts.
  const other = createAllowances({ store, log: silentLog, now: () => astray.ms });
  const running = await other.reserve({ keyId, limits }, () => ({ tokens: 0, cost: BUDGET }));
  await other.job.settle?.();
  expect(await one.spend(keyId, 0)).toBe('refused');
  running.settle(spend(BUDGET));
  await other.job.settle?.();
  clock.ms += ALLOWANCE_FRESH_MS;
  expect(await one.spend(keyId, 0)).toBe('refused');
  expect(await read(keyId, clock)).toMatchObject({ month: 202611, spent: BUDGET });
});

describe('whatever becomes of answers and processes', () => {
  const process = fc.nat(PROCESSES - 1);
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('begin' as const),
        process,
        cost: fc.integer({ min: 0, max: 6 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        process,
        which: fc.nat(50),
        cost: fc.integer({ min: 0, max: 6 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('sync' as const), process }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), process }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), process }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.oneof(fc.nat(200), fc.nat(1000), fc.constant(ALLOWANCE_LEASE_MS + 1)),
      }),
    },
  );
  type Instance = {
    process: Process;
    running: Map<Reservation, number>;
    /** Settled, and not told to the database. */
    unsynced: number;
    /** What it has reserved, as the database was told, and when. */
    reserved: { cost: number; atMs: number };
    /** What it must know of all, itself left out where it has reserved, and since when. */
    known: { spent: number; elsewhere: number; atMs: number };
  };
  const sum = (costs: Iterable<number>): number => [...costs].reduce((total, cost) => total + cost, 0);

  test('a request is admitted if the budget has room by what was told a quarter of a second ago, and what was used counts once', async () => {
    const pool = Array.from({ length: PROCESSES }, () => connect(database.url));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const clock = new Clock();
        const keyId = `key-${++keys}`;
        const instances: Instance[] = [];
        let toldSpent = 0;
        const startOne = (sql: Sql): Instance => {
          const instance: Instance = {
            process: start(sql, clock, (hasNews) => {
              toldSpent += instance.unsynced;
              instance.unsynced = 0;
              if (hasNews) instance.reserved = { cost: sum(instance.running.values()), atMs: clock.ms };
              const others = instances.filter(
                (each) => each !== instance && each.reserved.atMs + ALLOWANCE_LEASE_MS > clock.ms,
              );
              const elsewhere = sum(others.map(({ reserved }) => reserved.cost));
              const known = { spent: toldSpent, elsewhere, atMs: clock.ms };
              // An answer that is lost teaches nothing.
              if (instance.process.faults.next === 'none') instance.known = known;
            }),
            running: new Map(),
            unsynced: 0,
            reserved: { cost: 0, atMs: 0 },
            known: { spent: 0, elsewhere: 0, atMs: Number.NEGATIVE_INFINITY },
          };
          instances.push(instance);
          return instance;
        };
        const living = pool.map(startOne);
        for (const each of steps) {
          if (each.kind === 'wait') {
            clock.ms += each.ms;
            continue;
          }
          const instance = living[each.process] as Instance;
          if (each.kind === 'lose') instance.process.faults.next = 'lose the answer';
          else if (each.kind === 'sync') await instance.process.sync();
          // What it had settled and not told comes from the accounts: another test.
          else if (each.kind === 'crash') living[each.process] = startOne(pool[each.process] as Sql);
          else if (each.kind === 'end') {
            const [reservation] = [...instance.running.keys()].slice(
              each.which % Math.max(1, instance.running.size),
            );
            if (reservation === undefined) continue;
            instance.running.delete(reservation);
            reservation.settle(spend(each.cost));
            instance.unsynced += each.cost;
          } else {
            const begun = await instance.process.begin(keyId, each.cost);
            const { known, unsynced, running } = instance;
            expect(known.atMs).toBeGreaterThan(clock.ms - ALLOWANCE_FRESH_MS);
            const counted = known.spent + known.elsewhere + unsynced + sum(running.values());
            expect({ counted, isAdmitted: begun !== 'refused' }).toEqual({
              counted,
              isAdmitted: counted < BUDGET,
            });
            if (typeof begun !== 'string') running.set(begun, each.cost);
          }
        }
        for (const { process: last, running } of living) {
          for (const reservation of running.keys()) reservation.settle(NOTHING_USED);
          running.clear();
          last.faults.next = 'none';
          // A batch whose answer was lost goes first.
          await last.sync();
        }
        // What crashed processes had reserved is void, and what nobody used is there again.
        clock.ms += ALLOWANCE_LEASE_MS;
        const known = await read(keyId, clock);
        expect(known).toMatchObject({ spent: toldSpent, elsewhere: { tokensMs: 0, cost: 0 } });
        const answer = await (living[0] as Instance).process.spend(keyId, 0);
        expect(answer).toBe(toldSpent < BUDGET ? 'answered' : 'refused');
      }),
      { numRuns: 150, seed: Number(Bun.env['FC_SEED'] ?? 20261122) },
    );
  });
});
