// Called by src/documents/vectors/memory.ts: finds the vectors that are nearest to a query, exactly.
//
// A row is a vector of `stride` bytes (int8 components, zeros up to a multiple of 16), an f32 scale, the number of its document (u32)
// and the id of its passage (u64). A query has int16 components of at most ±2047, so that no sum of products overflows an i32 below
// 8,192 dimensions. A score is f32(dot product) × scale. Each operation is exact or rounded in one way, so every machine gives the
// same bits.
//
// The best are in a heap whose root is the worst of them: how many it may hold (u32) and how many it holds (u32), then entries of a
// score (f32, 8 bytes) and an id (u64). Of equal scores the smaller id is the better one.

const SCALE: usize = 0;
const DOCUMENT: usize = 4;
const ID: usize = 8;
const ROW_END: usize = 16;

const SIZE: usize = 4;
const ENTRIES: usize = 8;
const ENTRY: usize = 16;
const ENTRY_ID: usize = 8;

/** The first byte of the memory that the caller divides. */
export function base(): usize {
  return (__heap_base + 63) & ~63;
}

/** Offers `count` rows to a heap. `allowed` is a bitmap of documents, or 0 if all are allowed. */
export function scan(
  rows: usize,
  count: i32,
  stride: usize,
  query: usize,
  allowed: usize,
  heap: usize,
): void {
  const step = stride + ROW_END;
  let row = rows;
  const end = rows + <usize>count * step;
  if (allowed === 0) {
    let least = leastOf(heap);
    // Two at a time: each part of the query is loaded once for both.
    for (; row + step < end; row += 2 * step) {
      const second = row + step;
      let a = i32x4.splat(0);
      let b = i32x4.splat(0);
      for (let offset: usize = 0; offset < stride; offset += 16) {
        const low = v128.load(query + (offset << 1));
        const high = v128.load(query + (offset << 1), 16);
        a = add(a, row + offset, low, high);
        b = add(b, second + offset, low, high);
      }
      // The lanes of each are added: those of the sums are then a, b, a and b.
      const pairs = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
      const sums = i32x4.add(pairs, v128.shuffle<i32>(pairs, pairs, 2, 3, 0, 1));
      const score = <f32>i32x4.extract_lane(sums, 0) * load<f32>(row + stride + SCALE);
      const other = <f32>i32x4.extract_lane(sums, 1) * load<f32>(second + stride + SCALE);
      if (score >= least || other >= least) {
        offer(heap, score, row + stride);
        offer(heap, other, second + stride);
        least = leastOf(heap);
      }
    }
  }
  for (; row < end; row += step) {
    if (allowed !== 0) {
      const document = load<u32>(row + stride + DOCUMENT);
      if (((load<u8>(allowed + (document >>> 3)) >>> (document & 7)) & 1) === 0) continue;
    }
    let sums = i32x4.splat(0);
    for (let offset: usize = 0; offset < stride; offset += 16) {
      const low = v128.load(query + (offset << 1));
      const high = v128.load(query + (offset << 1), 16);
      sums = add(sums, row + offset, low, high);
    }
    const sum =
      i32x4.extract_lane(sums, 0) +
      i32x4.extract_lane(sums, 1) +
      i32x4.extract_lane(sums, 2) +
      i32x4.extract_lane(sums, 3);
    offer(heap, <f32>sum * load<f32>(row + stride + SCALE), row + stride);
  }
}

/** Adds the products of 16 components, which are extended as they are loaded. */
function add(sums: v128, components: usize, low: v128, high: v128): v128 {
  return i32x4.add(
    sums,
    i32x4.add(
      i32x4.dot_i16x8_s(v128.load8x8_s(components), low),
      i32x4.dot_i16x8_s(v128.load8x8_s(components, 8), high),
    ),
  );
}

/** Lower scores do not enter the heap. */
function leastOf(heap: usize): f32 {
  return load<u32>(heap + SIZE) === load<u32>(heap) ? load<f32>(heap + ENTRIES) : -f32.MAX_VALUE;
}

/** Whether the first is the worse one. */
function isWorse(score: f32, id: u64, otherScore: f32, otherId: u64): bool {
  return score < otherScore || (score === otherScore && id > otherId);
}

/** Offers a row, whose scale is at `end`, to a heap. */
function offer(heap: usize, score: f32, end: usize): void {
  if (score < leastOf(heap)) return;
  const id = load<u64>(end + ID);
  const entries = heap + ENTRIES;
  const size = load<u32>(heap + SIZE);
  if (size < load<u32>(heap)) {
    store<u32>(heap + SIZE, size + 1);
    rise(entries, size, score, id);
  } else if (isWorse(load<f32>(entries), load<u64>(entries + ENTRY_ID), score, id)) {
    sink(entries, size, score, id);
  }
}

/** Puts an entry at the end of the heap, and exchanges it with those above that are better. */
function rise(entries: usize, end: u32, score: f32, id: u64): void {
  let at = end;
  while (at > 0) {
    const above = (at - 1) >>> 1;
    const entry = entries + <usize>above * ENTRY;
    if (!isWorse(score, id, load<f32>(entry), load<u64>(entry + ENTRY_ID))) break;
    memory.copy(entries + <usize>at * ENTRY, entry, ENTRY);
    at = above;
  }
  write(entries + <usize>at * ENTRY, score, id);
}

/** Puts an entry in the place of the root, and exchanges it with those below that are worse. */
function sink(entries: usize, size: u32, score: f32, id: u64): void {
  let at: u32 = 0;
  for (;;) {
    let below: u32 = 2 * at + 1;
    if (below >= size) break;
    let entry = entries + <usize>below * ENTRY;
    if (below + 1 < size) {
      const other = entry + ENTRY;
      if (
        isWorse(load<f32>(other), load<u64>(other + ENTRY_ID), load<f32>(entry), load<u64>(entry + ENTRY_ID))
      ) {
        below++;
        entry = other;
      }
    }
    if (!isWorse(load<f32>(entry), load<u64>(entry + ENTRY_ID), score, id)) break;
    memory.copy(entries + <usize>at * ENTRY, entry, ENTRY);
    at = below;
  }
  write(entries + <usize>at * ENTRY, score, id);
}

function write(entry: usize, score: f32, id: u64): void {
  store<f32>(entry, score);
  store<u64>(entry + ENTRY_ID, id);
}
