// While the database is away, no request of a limited key is admitted by guess.

import { expect, test } from 'bun:test';
import { ServiceError } from '../../src/core/errors.ts';
import type { KeyLimits } from '../../src/core/principal.ts';
import { NOTHING_USED } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_FRESH_MS } from '../../src/gateway/limits.ts';
import type { AllowanceStore } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { Clock, type LimitedProcess, limitedProcess, read, twoProcesses } from './limited-process.ts';

const database = await shared(testDatabase());

const two = () => twoProcesses(database.sql);

const isRefusedBySentence = async (
  asked: LimitedProcess,
  limits: KeyLimits,
  keyId: string,
): Promise<boolean> => {
  const failure: unknown = await asked.ask(limits, keyId).catch((error: unknown) => error);
  return failure instanceof ServiceError && failure.kind === 'unavailable';
};

test('while the database is away no limited key is answered, which is said once; what ran meanwhile is told then', async () => {
  const { clock, store: real, keyId } = two();
  let away = true;
  /** A fake that fails as the driver does when the server does not answer. */
  const gone: AllowanceStore = {
    share: (told) => (away ? Promise.reject(new Error('away')) : real.share(told)),
    recover: (keyIds) => (away ? Promise.reject(new Error('away')) : real.recover(keyIds)),
    sweep: async () => undefined,
  };
  const limits = { requests_per_minute: 60, budget_per_month: 100 };
  const one = limitedProcess(clock, gone);
  // Not even the first time: the use is unknown.
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
});

test('a database that does not answer keeps a request of a limited key for some seconds at most, and none without', async () => {
  const never = () => new Promise<never>(() => {});
  const silent: AllowanceStore = { recover: never, share: never, sweep: never };
  const one = limitedProcess(new Clock(), silent);
  expect(await isRefusedBySentence(one, { requests_per_minute: 5 }, 'key')).toBe(true);
  expect(await one.ask({})).toEqual({});
});
