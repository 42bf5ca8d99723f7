// The possible use of requests that run is reserved, and given back when they end.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { KeyLimits } from '../../src/core/principal.ts';
import type { Amount } from '../../src/gateway/allowance.ts';
import { NOTHING_USED } from '../../src/gateway/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { aloneStore, Clock, limitedProcess, MINUTE, type Running, refusalOf } from './limited-process.ts';

describe('what running requests may use', () => {
  const limits = { tokens_per_minute: 1000, budget_per_month: 1.5 };

  test('is reserved: of forty at once, as many are answered as the limit has room for, and one overdraws', async () => {
    const one = limitedProcess(new Clock());
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
    const one = limitedProcess(new Clock());
    const running = await one.run(limits, { tokens: 400, cost: 0.5 });
    expect(running.headers()).toMatchObject({
      'x-ratelimit-remaining-tokens': '600',
      'x-ratelimit-reset-tokens': '24s',
    });
    running.settle({ tokens: 100, completionTokens: 0, cost: 0.1 });
    expect(running.headers()).toMatchObject({
      'x-ratelimit-remaining-tokens': '900',
      'x-ratelimit-reset-tokens': '6s',
    });
  });

  test('of a request that used nothing is all given back, and given back once', async () => {
    const one = limitedProcess(new Clock());
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
    const one = limitedProcess(new Clock());
    await one.run(limits, { tokens: 1000, cost: 0 });
    const refusal = refusalOf(await one.begin(limits, { tokens: 1, cost: 0 }));
    expect(refusal.details).toMatchObject({ type: 'tokens', headers: { 'retry-after-ms': '1000' } });
    expect(refusal.message).toContain('reserved');
  });

  test('does not refill while it is reserved', async () => {
    const clock = new Clock();
    const one = limitedProcess(clock);
    await one.run(limits, { tokens: 1000, cost: 0 });
    clock.ms += 10 * MINUTE;
    expect(await one.ask(limits)).toBeInstanceOf(OpenAiRefusal);
  });

  test('follows the key’s own completions, and forgets long ones little by little', async () => {
    const one = limitedProcess(new Clock());
    const told: number[] = [];
    for (const completionTokens of [5000, ...Array<number>(60).fill(50)]) {
      const reserving = one.allowances.reserve({ keyId: 'key', limits }, (recent) => {
        told.push(recent);
        return NOTHING_USED;
      });
      (await reserving)?.settle({ ...NOTHING_USED, completionTokens });
    }
    expect(told[0]).toBe(0);
    expect(told[1]).toBe(5000);
    expect(told[2]).toBeLessThan(5000);
    expect(told.at(-1)).toBeLessThan(100);
  });

  test('without a limit of tokens or money nothing is estimated', async () => {
    const { allowances } = limitedProcess(new Clock());
    const estimate = () => {
      throw new Error('estimated');
    };
    for (const given of [{}, { requests_per_minute: 5 }])
      (await allowances.reserve({ keyId: 'key', limits: given }, estimate))?.settle(NOTHING_USED);
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
        const store = aloneStore(clock);
        const one = limitedProcess(clock, store);
        const reserved = () => store.reports.get('key')?.reserved ?? { tokensMs: 0, cost: 0 };
        const running: Running[] = [];
        let spent = 0;
        const end = (reservation: Running, used: Amount): void => {
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
          expect(reserved().tokensMs).toBeGreaterThanOrEqual(0);
          expect(reserved().cost).toBeGreaterThanOrEqual(0);
        }
        for (const each of running) end(each, NOTHING_USED);
        await one.sync();
        expect(reserved()).toMatchObject({ tokensMs: 0, cost: 0 });
        expect(store.reports.get('key')?.spent ?? 0).toBeCloseTo(spent, 9);
        // Once all is refilled, only the month's money is gone.
        clock.ms += 100 * MINUTE;
        const after = await one.begin(given, NOTHING_USED);
        if (spent >= 20) expect(after).toBeInstanceOf(OpenAiRefusal);
        else expect((after as Running).headers()['x-ratelimit-remaining-tokens']).toBe('5000');
      }),
      { numRuns: 100 },
    );
  });
});
