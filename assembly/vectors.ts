// Called by src/documents/vectors/thread.ts: finds the vectors of a slab that are nearest to a query, exactly.
//
// A vector has int8 components and an f32 scale, a query int16 components of at most ±2047, so that no sum of products
// overflows an i32 below 8,192 dimensions. A score is f32(dot product) × scale. Each operation is exact or rounded in one
// way, so that every machine gives the same bits. A slab holds `capacity` places: first their vectors of `stride` bytes (a
// multiple of 16), then the scales (f32), the documents (u32), and the ids of the passages (u64).
//
// The best stand in a heap whose root is the worst of them: a header of 32 bytes, then entries of 16 bytes. Of equal scores
// the smaller id is the better one.

// The header of a heap: how many it may hold (u32), how many it holds (u32), and the score (f32) and the id (u64) that
// everything in it must come behind.
const SIZE: usize = 4;
const BEHIND_SCORE: usize = 8;
const BEHIND_ID: usize = 16;
const HEADER: usize = 32;

// An entry: score (f32), document (u32), id (u64).
const ENTRY: usize = 16;
const ENTRY_DOCUMENT: usize = 4;
const ENTRY_ID: usize = 8;

/** The first byte of the memory that the caller divides. */
export function base(): usize {
  return (__heap_base + 63) & ~63;
}

/**
 * Offers the first `count` vectors of a slab to a heap. `allowed` is a bitmap of documents, or 0 where all are allowed.
 */
export function scan(
  slab: usize,
  capacity: i32,
  count: i32,
  stride: i32,
  query: usize,
  allowed: usize,
  heap: usize,
): void {
  const scales = slab + <usize>capacity * <usize>stride;
  const documents = scales + ((<usize>capacity) << 2);
  const ids = documents + ((<usize>capacity) << 2);
  let at: i32 = 0;
  if (allowed === 0) {
    const step = <usize>stride;
    let least = f32x4.splat(leastOf(heap));
    // Two at a time: each part of the query is loaded once for both. More streams through the memory are read more slowly.
    for (; at + 2 <= count; at += 2) {
      const first = slab + <usize>at * step;
      const second = first + step;
      let a = i32x4.splat(0);
      let b = i32x4.splat(0);
      for (let offset: usize = 0; offset < step; offset += 16) {
        const low = v128.load(query + (offset << 1));
        const high = v128.load(query + (offset << 1), 16);
        a = add(a, first + offset, low, high);
        b = add(b, second + offset, low, high);
      }
      // The lanes of each are added: those of the sums are then a, b, a and b.
      const pairs = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
      const sums = i32x4.add(pairs, v128.shuffle<i32>(pairs, pairs, 2, 3, 0, 1));
      const scale = v128.load_splat<u64>(scales + ((<usize>at) << 2));
      const scores = f32x4.mul(f32x4.convert_i32x4_s(sums), scale);
      if (v128.any_true(f32x4.ge(scores, least))) {
        offer(heap, f32x4.extract_lane(scores, 0), at, documents, ids);
        offer(heap, f32x4.extract_lane(scores, 1), at + 1, documents, ids);
        least = f32x4.splat(leastOf(heap));
      }
    }
  }
  for (; at < count; at++) {
    if (allowed !== 0) {
      const document = load<u32>(documents + ((<usize>at) << 2));
      if (((load<u8>(allowed + (document >>> 3)) >>> (document & 7)) & 1) === 0) continue;
    }
    const vector = slab + <usize>at * <usize>stride;
    let sums = i32x4.splat(0);
    for (let offset: usize = 0; offset < <usize>stride; offset += 16) {
      const low = v128.load(query + (offset << 1));
      const high = v128.load(query + (offset << 1), 16);
      sums = add(sums, vector + offset, low, high);
    }
    const sum = i32x4.extract_lane(across(sums, sums, sums, sums), 0);
    offer(heap, <f32>sum * load<f32>(scales + ((<usize>at) << 2)), at, documents, ids);
  }
}

/**
 * Offers the first `count` vectors of a slab to two heaps, which are `apart` bytes from one another, by a query each: with eight
 * components of the first query, then of the second, and so on. Two vectors are extended once for both.
 */
export function scanTwo(
  slab: usize,
  capacity: i32,
  count: i32,
  stride: i32,
  queries: usize,
  heaps: usize,
  apart: usize,
): void {
  const scales = slab + <usize>capacity * <usize>stride;
  const documents = scales + ((<usize>capacity) << 2);
  const ids = documents + ((<usize>capacity) << 2);
  const step = <usize>stride;
  const other = heaps + apart;
  let least = f32x4(leastOf(heaps), leastOf(other), leastOf(heaps), leastOf(other));
  for (let at: i32 = 0; at < count; at += 2) {
    const first = slab + <usize>at * step;
    // Of an odd number the last one is its own neighbour, and is offered once.
    const next = at + 1 < count ? 1 : 0;
    const second = first + <usize>next * step;
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    let c = i32x4.splat(0);
    let d = i32x4.splat(0);
    for (let offset: usize = 0; offset < step; offset += 16) {
      const query = queries + (offset << 2);
      const ones = v128.load(query);
      const twos = v128.load(query, 16);
      const moreOnes = v128.load(query, 32);
      const moreTwos = v128.load(query, 48);
      let low = v128.load8x8_s(first + offset);
      let high = v128.load8x8_s(first + offset, 8);
      a = i32x4.add(a, i32x4.add(i32x4.dot_i16x8_s(low, ones), i32x4.dot_i16x8_s(high, moreOnes)));
      b = i32x4.add(b, i32x4.add(i32x4.dot_i16x8_s(low, twos), i32x4.dot_i16x8_s(high, moreTwos)));
      low = v128.load8x8_s(second + offset);
      high = v128.load8x8_s(second + offset, 8);
      c = i32x4.add(c, i32x4.add(i32x4.dot_i16x8_s(low, ones), i32x4.dot_i16x8_s(high, moreOnes)));
      d = i32x4.add(d, i32x4.add(i32x4.dot_i16x8_s(low, twos), i32x4.dot_i16x8_s(high, moreTwos)));
    }
    const scale = v128.shuffle<i32>(
      v128.load_splat<f32>(scales + ((<usize>at) << 2)),
      v128.load_splat<f32>(scales + ((<usize>(at + next)) << 2)),
      0,
      1,
      4,
      5,
    );
    const scores = f32x4.mul(f32x4.convert_i32x4_s(across(a, b, c, d)), scale);
    if (v128.any_true(f32x4.ge(scores, least))) {
      offer(heaps, f32x4.extract_lane(scores, 0), at, documents, ids);
      offer(other, f32x4.extract_lane(scores, 1), at, documents, ids);
      if (next === 1) {
        offer(heaps, f32x4.extract_lane(scores, 2), at + 1, documents, ids);
        offer(other, f32x4.extract_lane(scores, 3), at + 1, documents, ids);
      }
      least = f32x4(leastOf(heaps), leastOf(other), leastOf(heaps), leastOf(other));
    }
  }
}

/**
 * Offers the first `count` vectors of a slab to four heaps, which are `apart` bytes from one another, by a query each: with eight
 * components of the first query, then of the second, the third and the fourth, and so on. Each vector is read and
 * extended once for all of them.
 */
export function scanFour(
  slab: usize,
  capacity: i32,
  count: i32,
  stride: i32,
  queries: usize,
  heaps: usize,
  apart: usize,
): void {
  const scales = slab + <usize>capacity * <usize>stride;
  const documents = scales + ((<usize>capacity) << 2);
  const ids = documents + ((<usize>capacity) << 2);
  const step = <usize>stride;
  const second = heaps + apart;
  const third = second + apart;
  const fourth = third + apart;
  let least = f32x4(leastOf(heaps), leastOf(second), leastOf(third), leastOf(fourth));
  for (let at: i32 = 0; at < count; at++) {
    const vector = slab + <usize>at * step;
    let a = i32x4.splat(0);
    let b = i32x4.splat(0);
    let c = i32x4.splat(0);
    let d = i32x4.splat(0);
    for (let offset: usize = 0; offset < step; offset += 16) {
      const query = queries + (offset << 3);
      const low = v128.load8x8_s(vector + offset);
      const high = v128.load8x8_s(vector + offset, 8);
      a = i32x4.add(a, i32x4.dot_i16x8_s(low, v128.load(query)));
      b = i32x4.add(b, i32x4.dot_i16x8_s(low, v128.load(query, 16)));
      c = i32x4.add(c, i32x4.dot_i16x8_s(low, v128.load(query, 32)));
      d = i32x4.add(d, i32x4.dot_i16x8_s(low, v128.load(query, 48)));
      a = i32x4.add(a, i32x4.dot_i16x8_s(high, v128.load(query, 64)));
      b = i32x4.add(b, i32x4.dot_i16x8_s(high, v128.load(query, 80)));
      c = i32x4.add(c, i32x4.dot_i16x8_s(high, v128.load(query, 96)));
      d = i32x4.add(d, i32x4.dot_i16x8_s(high, v128.load(query, 112)));
    }
    const scale = v128.load_splat<f32>(scales + ((<usize>at) << 2));
    const scores = f32x4.mul(f32x4.convert_i32x4_s(across(a, b, c, d)), scale);
    if (v128.any_true(f32x4.ge(scores, least))) {
      offer(heaps, f32x4.extract_lane(scores, 0), at, documents, ids);
      offer(second, f32x4.extract_lane(scores, 1), at, documents, ids);
      offer(third, f32x4.extract_lane(scores, 2), at, documents, ids);
      offer(fourth, f32x4.extract_lane(scores, 3), at, documents, ids);
      least = f32x4(leastOf(heaps), leastOf(second), leastOf(third), leastOf(fourth));
    }
  }
}

/** Adds the lanes of each: its sum is the lane of the result that has its place. */
function across(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
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
  return load<u32>(heap + SIZE) === load<u32>(heap) ? load<f32>(heap + HEADER) : -f32.MAX_VALUE;
}

function offer(heap: usize, score: f32, at: i32, documents: usize, ids: usize): void {
  if (score < leastOf(heap) || score > load<f32>(heap + BEHIND_SCORE)) return;
  const document = load<u32>(documents + ((<usize>at) << 2));
  enter(heap, score, document, load<u64>(ids + ((<usize>at) << 3)));
}

/** Whether the first is the worse one. */
function isWorse(score: f32, id: u64, otherScore: f32, otherId: u64): bool {
  return score < otherScore || (score === otherScore && id > otherId);
}

function enter(heap: usize, score: f32, document: u32, id: u64): void {
  if (!isWorse(score, id, load<f32>(heap + BEHIND_SCORE), load<u64>(heap + BEHIND_ID))) return;
  const entries = heap + HEADER;
  const size = load<u32>(heap + SIZE);
  if (size < load<u32>(heap)) {
    store<u32>(heap + SIZE, size + 1);
    rise(entries, size, score, document, id);
  } else if (isWorse(load<f32>(entries), load<u64>(entries + ENTRY_ID), score, id)) {
    sink(entries, size, score, document, id);
  }
}

/** Puts an entry at the end of the heap, and exchanges it with those above that are better. */
function rise(entries: usize, end: u32, score: f32, document: u32, id: u64): void {
  let at = end;
  while (at > 0) {
    const above = (at - 1) >>> 1;
    const entry = entries + <usize>above * ENTRY;
    if (!isWorse(score, id, load<f32>(entry), load<u64>(entry + ENTRY_ID))) break;
    memory.copy(entries + <usize>at * ENTRY, entry, ENTRY);
    at = above;
  }
  write(entries + <usize>at * ENTRY, score, document, id);
}

/** Puts an entry in the place of the root, and exchanges it with those below that are worse. */
function sink(entries: usize, size: u32, score: f32, document: u32, id: u64): void {
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
  write(entries + <usize>at * ENTRY, score, document, id);
}

function write(entry: usize, score: f32, document: u32, id: u64): void {
  store<f32>(entry, score);
  store<u32>(entry + ENTRY_DOCUMENT, document);
  store<u64>(entry + ENTRY_ID, id);
}
