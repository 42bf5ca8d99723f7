// Chance that is the same at every run: a generator that depends on its seeds alone.

export type Random = () => number;

/** Rounds until near seeds have nothing in common. */
const WARM_UP = 12;

/**
 * Numbers from 0 to below 1 (sfc32). Seeds that differ in the last one alone never make the same sequence: with as
 * many as there are documents, 32 bits of state would.
 */
export function createRandom(...seeds: readonly number[]): Random {
  let a = 0x9e3779b9;
  for (const seed of seeds.slice(0, -1)) a = mix(a ^ Math.imul(seed + 0x7f4a7c15, 0x85ebca6b));
  let b = (seeds.at(-1) ?? 0) | 0;
  let c = mix(a ^ 0x7f4a7c15);
  let count = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < WARM_UP; round++) next();
  return next;
}

function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  const twice = Math.imul(once ^ (once >>> 16), 0x45d9f3b);
  return twice ^ (twice >>> 16);
}

export const below = (random: Random, end: number): number => Math.floor(random() * end);

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Picks positions of weights, each as often as it weighs. */
export function createWeighted(weights: readonly number[]): (random: Random) => number {
  let sum = 0;
  const sums = weights.map((weight) => {
    sum += weight;
    return sum;
  });
  return (random) => {
    const at = random() * sum;
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

/** Normally distributed, mean 0, deviation 1. */
export const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export const hexDigits = (random: Random, length: number): string => {
  let digits = '';
  while (digits.length < length) digits += below(random, 0x100000000).toString(16).padStart(8, '0');
  return digits.slice(0, length);
};
