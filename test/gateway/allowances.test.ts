// Limits of keys in one process: exactly as many as they say, refilled evenly.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Allowances, NOTHING_USED } from '../../src/gateway/allowances.ts';
import type { AllowanceStore } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { silentLog } from '../support/database.ts';
import {
  aloneStore,
  Clock,
  countAnswered,
  limitedProcess,
  MINUTE,
  refusalOf,
  START,
} from './limited-process.ts';

describe('requests a minute', () => {
  for (const limit of [1, 2, 3, 7, 59, 60, 61, 600, 997, 9973, 10_000]) {
    test(`${limit}: so many at once and not one more, then evenly`, async () => {
      const clock = new Clock();
      const one = limitedProcess(clock);
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
        const one = limitedProcess(clock);
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
        const one = limitedProcess(clock);
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
    const one = limitedProcess(clock);
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
      type: 'requests',
      code: 'rate_limit_exceeded',
      headers: { 'x-ratelimit-remaining-requests': '0', 'retry-after-ms': '15000' },
    });
  });

  test('keys do not count for one another', async () => {
    const one = limitedProcess(new Clock());
    const limits = { requests_per_minute: 1 };
    expect(await one.ask(limits, 'a')).not.toBeInstanceOf(OpenAiRefusal);
    expect(await one.ask(limits, 'b')).not.toBeInstanceOf(OpenAiRefusal);
    expect(await one.ask(limits, 'a')).toBeInstanceOf(OpenAiRefusal);
  });

  test('a key without limits is never refused, and told nothing', async () => {
    const one = limitedProcess(new Clock());
    expect(await countAnswered(one, {}, 1000)).toBe(1000);
    expect(await one.ask({})).toEqual({});
  });
});

describe('tokens a minute', () => {
  const limits = { tokens_per_minute: 600 };
  test('one request may overdraw; the next waits until something is left', async () => {
    const clock = new Clock();
    const one = limitedProcess(clock);
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
    const one = limitedProcess(clock);
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
  const alone = aloneStore(clock);
  const store: AllowanceStore = {
    ...alone,
    exchange(sent) {
      // Of which nothing is known.
      found.push(...sent.filter(({ report }) => report.month === 0).map(({ keyId }) => keyId));
      return alone.exchange(sent);
    },
  };
  const allowances = new Allowances({ store, log: silentLog, now: () => clock.ms, allowancesMax: 3 });
  const limits = { requests_per_minute: 10 };
  const begin = (keyId: string) => allowances.reserve({ keyId, limits }, () => NOTHING_USED);
  for (const keyId of ['idle', 'running']) {
    const reservation = await begin(keyId);
    if (keyId === 'idle') reservation?.settle(NOTHING_USED);
  }
  await allowances.job.settle?.();
  (await begin('unsynced'))?.settle(NOTHING_USED);
  clock.ms += MINUTE + 1;
  (await begin('new'))?.settle(NOTHING_USED);
  found.length = 0;
  for (const keyId of ['running', 'unsynced', 'new', 'idle']) await begin(keyId);
  expect(found).toEqual(['idle']);
});

describe('a budget a month', () => {
  const limits = { budget_per_month: 1 };
  test('is spent up, and there again when the month turns (UTC)', async () => {
    const clock = new Clock();
    const one = limitedProcess(clock);
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
