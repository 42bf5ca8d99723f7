// Chance that can be repeated: a failing run prints its seed, and FAULT_SEED runs it again.

export type Random = {
  /** An integer from 0 up to, and without, `limit`. */
  below(limit: number): number;
  between(range: { from: number; to: number }): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item | undefined;
  /** A generator of its own, so that what runs at once does not share one sequence. */
  fork(): Random;
};

export function seedOfRun(): number {
  const given = Number(process.env['FAULT_SEED'] ?? Number.NaN);
  return Number.isInteger(given) ? given : Math.floor(Math.random() * 2 ** 31);
}

/** The generator `mulberry32`: 32 bits of state, good enough to choose by. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    between: ({ from, to }) => from + below(to - from + 1),
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)],
    fork: () => createRandom(below(2 ** 31)),
  };
}
