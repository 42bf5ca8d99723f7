// The embedding kernel once more, written plainly and apart from it.

const DIMENSIONS = 384;
const FEATURES_MAX = 12_288;
const DENSE: readonly (readonly [from: number, to: number])[] = [
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3ffff],
];

const isDense = (character: number): boolean =>
  DENSE.some(([from, to]) => character >= from && character <= to);

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
const mix = (hash: number, value: number): number =>
  (Math.imul(rotate(Math.imul(hash ^ value, 0xcc9e2d51), 15), 0x1b873593) + 0xe6546b64) | 0;

function finish(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

const hashOf = (kind: number, characters: readonly number[]): number =>
  finish(characters.reduce((hash, character) => mix(hash, character), kind));

/** The runs of 3, 4 and 5 characters of a word between marks, by their ends; then the word. */
function featuresOfWord(word: readonly number[]): number[] {
  const marked = [1, ...word, 1];
  const parts = marked.flatMap((_, end) =>
    [3, 4, 5]
      .filter((size) => size <= end + 1)
      .map((size) => hashOf(3, marked.slice(end + 1 - size, end + 1).reverse())),
  );
  return [...parts, hashOf(4, word)];
}

const featuresOfDense = (character: number, before: number | undefined): number[] => [
  hashOf(1, [character]),
  ...(before === undefined ? [] : [hashOf(2, [character, before])]),
];

function featuresOf(text: string): number[] {
  const features: number[] = [];
  let word: number[] = [];
  let before: number | undefined;
  const endWord = (): void => {
    if (word.length > 0) for (const feature of featuresOfWord(word)) features.push(feature);
    word = [];
  };
  for (const each of text) {
    const character = each.codePointAt(0) ?? 0;
    if (each === ' ' || isDense(character)) endWord();
    else word.push(character);
    if (isDense(character)) features.push(...featuresOfDense(character, before));
    before = isDense(character) ? character : undefined;
  }
  endWord();
  return features;
}

/** The vector of a text that is normalised already. */
export function embedPlainly(text: string): Float32Array {
  const sums = new Float64Array(DIMENSIONS);
  const counts = new Map<number, number>();
  const addCounts = (): void => {
    for (const [hash, count] of counts) {
      const dimension = Number((BigInt(hash) * BigInt(DIMENSIONS)) >> 32n);
      const weight = (count * 2.5) / (count + 1.5);
      sums[dimension] = (sums[dimension] ?? 0) + (hash % 2 === 1 ? weight : -weight);
    }
    counts.clear();
  };
  for (const hash of featuresOf(text)) {
    if (!counts.has(hash) && counts.size === FEATURES_MAX) addCounts();
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  addCounts();
  if (sums.every((sum) => sum === 0)) sums[0] = 1;
  const norm = Math.sqrt(sums.reduce((squares, sum) => squares + sum * sum, 0));
  return Float32Array.from(sums, (sum) => sum / norm);
}
