// What processes have used of a key's limits, each tells the others: it counts once, in its month.

import { expect, test } from 'bun:test';
import { NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_FRESH_MS, ALLOWANCE_LEASE_MS } from '../../src/gateway/limits.ts';
import type { AllowanceStore, Told } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import {
  countAnswered,
  type LimitedProcess,
  limitedProcess,
  MINUTE,
  NOTHING_TOLD,
  nextReader,
  read,
  refusalOf,
  twoProcesses,
} from './limited-process.ts';

const database = await shared(testDatabase());

const two = () => twoProcesses(database.sql);

test('processes know of each other’s requests within a tick of telling, and each counts once', async () => {
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

test('processes let through together what one may, over minutes of steady load', async () => {
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

test('processes share tokens and money, and the month turns for both', async () => {
  const { clock, keyId, all, syncAll } = two();
  const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
  const [one, other] = all;
  const run = async (asked: LimitedProcess): Promise<Reservation> => asked.run(limits, NOTHING_USED, keyId);
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
    processId: nextReader(),
    number: 1,
    ageMs: 0,
    leaseMs: ALLOWANCE_LEASE_MS,
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
  const one = limitedProcess(clock, late);
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
  const one = limitedProcess(clock, late);
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
  const next = limitedProcess(clock, store);
  expect(refusalOf(await next.ask(limits, keyId)).details.code).toBe('rate_limit_exceeded');
  expect((await read(store, keyId)).spent).toBe(2);
});

test('a thousand keys are told in one statement', async () => {
  const { store } = two();
  const told = Array.from({ length: 1000 }, (_, index) => ({
    keyId: `many-${index}`,
    hasNews: true,
    requestsMs: 1000,
    tokensMs: 0,
    month: 202611,
    spent: 0.1,
    reserved: { tokensMs: 5, cost: 0.5 },
  }));
  const batch = { number: 1, told, ageMs: 0, leaseMs: ALLOWANCE_LEASE_MS };
  expect((await store.share({ processId: 'one', ...batch }))?.size).toBe(1000);
  const again = await store.share({ processId: 'other', ...batch });
  expect(again?.get('many-7')).toEqual({
    requestsMs: 2000,
    tokensMs: 0,
    month: 202611,
    spent: 0.2,
    monthLeftMs: 600_000,
    elsewhere: { tokensMs: 5, cost: 0.5 },
  });
});
