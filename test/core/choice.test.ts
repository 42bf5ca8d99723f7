// Of two ways the cheaper is taken, and the dearer tried again so seldom that it adds little.

import { expect, test } from 'bun:test';
import { createChoice } from '../../src/core/choice.ts';

/** Asks so often, at these costs, and says how often each way was taken. */
function askMany(
  choice: ReturnType<typeof createChoice<'a' | 'b'>>,
  times: number,
  costs: { a: number; b: number },
) {
  const taken = { a: 0, b: 0 };
  for (let time = 0; time < times; time++) {
    const way = choice.of('kind');
    taken[way] += 1;
    choice.learn('kind', way, costs[way]);
  }
  return taken;
}

test('both ways are tried, then the cheaper is taken; of two that cost the same, the first', () => {
  expect(askMany(createChoice('a', 'b'), 20, { a: 1, b: 3 })).toEqual({ a: 19, b: 1 });
  expect(askMany(createChoice('a', 'b'), 20, { a: 3, b: 1 })).toEqual({ a: 1, b: 19 });
  expect(askMany(createChoice('a', 'b'), 20, { a: 0, b: 0 })).toEqual({ a: 19, b: 1 });
});

test('the dearer way adds a fiftieth at most, however dear it is, and is noticed when it becomes the cheaper', () => {
  const choice = createChoice('a', 'b');
  const costs = { a: 100, b: 1 };
  const taken = askMany(choice, 50_000, costs);
  expect(taken.a).toBeGreaterThan(2);
  expect(taken.a * costs.a).toBeLessThanOrEqual((taken.b * costs.b) / 50 + 2 * costs.a);
  expect(askMany(choice, 50_000, { a: 0.1, b: 1 }).a).toBeGreaterThan(10_000);
});

test('a single slow answer decides nothing, and questions at once do not all try the dearer way', () => {
  const choice = createChoice('a', 'b');
  askMany(choice, 100, { a: 1, b: 3 });
  choice.learn('kind', 'a', 10);
  expect(choice.of('kind')).toBe('a');
  choice.learn('kind', 'a', 1000);
  expect([choice.of('kind'), choice.of('kind')].filter((way) => way === 'a').length).toBeLessThan(2);
  expect(choice.of('another kind')).toBe('a');
});
