// Called by the handler `embed` of src/compute/thread.ts: a text's character n-grams, hashed to a vector of unit length.
//
// A text is fed as UTF-8, in pieces that end between characters: words with one blank between them. A word gives the
// runs of 3, 4 and 5 characters in it, with a mark at its start and its end, and itself as a whole; scripts that write a
// word in one or two characters give single ones and pairs. Each distinct one counts by a weight that grows slower than
// it repeats, with the sign and in the dimension that its hash says. Only exact operations (+, ×, ÷, √ of f64) in one
// order, so that every machine gives the same bits. No SIMD: it would change the order of the sums, and hashing and
// counting, one n-gram after the other, take nearly all of the time.

export const INPUT_BYTES: i32 = 65536;
const DIMENSIONS: i32 = 384;

/** Distinct n-grams that are counted together; a text with more is counted in several goes. */
const FEATURES_MAX: i32 = 12288;
const SLOTS: u32 = 16384;
/** How much of a repetition counts: the n-th adds less than the one before, and all of them no more than this + 1. */
const SATURATION: f64 = 1.5;

const SIZE_MIN: i32 = 3;
const SIZE_MAX: i32 = 5;
// What the hashes of each kind of feature begin with.
const SINGLE: u32 = 1;
const PAIR: u32 = 2;
const PART: u32 = 3;
const WORD: u32 = 4;

const BLANK: u32 = 0x20;
/** No character of a normalised text. */
const MARK: u32 = 1;

const inputs = memory.data(65536);
const outputs = memory.data(384 * 4);
const sums = memory.data(384 * 8);
/** The hash of a feature, and its count; in use where the count is not 0. */
const hashes = memory.data(16384 * 4);
const counts = memory.data(16384 * 4);
/** Slots in use, in the order in which their features came. */
const order = memory.data(12288 * 4);

let used: i32 = 0;
// The characters of the word so far, the latest first.
let first: u32 = 0;
let second: u32 = 0;
let third: u32 = 0;
let fourth: u32 = 0;
let fifth: u32 = 0;
let length: i32 = 0;
let wordHash: u32 = 0;
let previousDense: bool = false;

/** Where the bytes of a piece are put. */
export function input(): usize {
  return inputs;
}

/** Where the vector is read: DIMENSIONS of f32. */
export function output(): usize {
  return outputs;
}

/** Begins a text, and forgets the one before, however that ended. */
export function embed(): void {
  memory.fill(sums, 0, DIMENSIONS * 8);
  forgetCounts();
  length = 0;
  previousDense = false;
}

/** Takes the next piece: so many bytes of the input. */
export function feed(bytes: i32): void {
  let at = inputs;
  const end = inputs + bytes;
  while (at < end) {
    const byte: u32 = load<u8>(at);
    if (byte < 0x80) {
      take(byte);
      at += 1;
    } else if (byte < 0xe0) {
      take(((byte & 0x1f) << 6) | continuation(at, 1));
      at += 2;
    } else if (byte < 0xf0) {
      take(((byte & 0x0f) << 12) | (continuation(at, 1) << 6) | continuation(at, 2));
      at += 3;
    } else {
      const high = ((byte & 0x07) << 18) | (continuation(at, 1) << 12);
      take(high | (continuation(at, 2) << 6) | continuation(at, 3));
      at += 4;
    }
  }
}

/** Ends the text: its vector stands in the output. One without any feature is the first axis. */
export function finish(): void {
  endWord();
  addCounts();
  let squares: f64 = 0;
  for (let index = 0; index < DIMENSIONS; index++) {
    const sum = load<f64>(sums + ((<usize>index) << 3));
    squares += sum * sum;
  }
  if (squares === 0) {
    store<f64>(sums, 1);
    squares = 1;
  }
  const norm = sqrt(squares);
  for (let index = 0; index < DIMENSIONS; index++) {
    store<f32>(outputs + ((<usize>index) << 2), <f32>(load<f64>(sums + ((<usize>index) << 3)) / norm));
  }
}

function continuation(at: usize, offset: usize): u32 {
  return load<u8>(at + offset) & 0x3f;
}

function take(character: u32): void {
  if (character === BLANK) {
    endWord();
    previousDense = false;
  } else if (isDense(character)) {
    endWord();
    add(mix(SINGLE, character));
    if (previousDense) add(mix(mix(PAIR, character), first));
    first = character;
    previousDense = true;
  } else {
    if (length === 0) {
      wordHash = WORD;
      push(MARK);
      previousDense = false;
    }
    wordHash = mix(wordHash, character);
    push(character);
  }
}

/** Scripts whose words are a character or two: Han, kana, bopomofo, Yi, Hangul. */
function isDense(character: u32): bool {
  if (character < 0x2e80) return false;
  return (
    character <= 0xa4cf ||
    (character >= 0xac00 && character <= 0xd7a3) ||
    (character >= 0xf900 && character <= 0xfaff) ||
    (character >= 0x1b000 && character <= 0x1b2ff) ||
    (character >= 0x20000 && character <= 0x3ffff)
  );
}

function endWord(): void {
  if (length === 0) return;
  push(MARK);
  add(wordHash);
  length = 0;
}

/** Adds the n-grams of a word that end with this character. */
function push(character: u32): void {
  fifth = fourth;
  fourth = third;
  third = second;
  second = first;
  first = character;
  length += 1;
  if (length < SIZE_MIN) return;
  let hash = mix(mix(mix(PART, first), second), third);
  add(hash);
  if (length === SIZE_MIN) return;
  hash = mix(hash, fourth);
  add(hash);
  if (length < SIZE_MAX) return;
  add(mix(hash, fifth));
}

function mix(hash: u32, value: u32): u32 {
  return rotl<u32>((hash ^ value) * 0xcc9e2d51, 15) * 0x1b873593 + 0xe6546b64;
}

/** Counts one occurrence. */
function add(unfinished: u32): void {
  let hash = (unfinished ^ (unfinished >>> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
  hash ^= hash >>> 16;
  let slot = hash & (SLOTS - 1);
  for (;;) {
    const count = counts + ((<usize>slot) << 2);
    const present = load<u32>(count);
    if (present === 0) break;
    if (load<u32>(hashes + ((<usize>slot) << 2)) === hash) {
      store<u32>(count, present + 1);
      return;
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
  if (used === FEATURES_MAX) {
    addCounts();
    slot = hash & (SLOTS - 1);
  }
  store<u32>(hashes + ((<usize>slot) << 2), hash);
  store<u32>(counts + ((<usize>slot) << 2), 1);
  store<u32>(order + ((<usize>used) << 2), slot);
  used += 1;
}

/** Moves what was counted into the sums. */
function addCounts(): void {
  for (let index = 0; index < used; index++) {
    const slot = (<usize>load<u32>(order + ((<usize>index) << 2))) << 2;
    const hash = load<u32>(hashes + slot);
    const count = <f64>load<u32>(counts + slot);
    const weight = (count * (SATURATION + 1)) / (count + SATURATION);
    const sum = sums + ((<usize>((<u64>hash * DIMENSIONS) >> 32)) << 3);
    store<f64>(sum, load<f64>(sum) + (hash & 1 ? weight : -weight));
  }
  forgetCounts();
}

function forgetCounts(): void {
  for (let index = 0; index < used; index++) {
    store<u32>(counts + ((<usize>load<u32>(order + ((<usize>index) << 2))) << 2), 0);
  }
  used = 0;
}
