// The vectors of workspaces in the linear memory of the kernel (assembly/vectors.ts), inside a thread.
//
// A space (the vectors of a workspace by one model) has slabs of a fixed size, without holes: where a document leaves, vectors
// from the end take its places. A document is a number within its space, which a scan's bitmap of allowed documents goes by.

import { HUGE_PAGE_BYTES } from '../../infra/wasm/huge-pages.ts';
import type { Kernels } from './kernels.ts';
import { SLAB_BYTES } from './limits.ts';
import type { Place } from './place.ts';
import { createScratch, type Scan } from './scratch.ts';

/** Rows are: the id of the document (16 bytes), that of the passage (8, big-endian), the stored vector. */
const ROW_HEADER_BYTES = 24;
const DOCUMENT_BYTES = 16;
const SCALE_BYTES = 4;

export const rowBytes = (dimensions: number): number => ROW_HEADER_BYTES + SCALE_BYTES + dimensions;

/** Of the scale, the document's number and the passage's id beside a vector. */
const BESIDE_BYTES = 16;
const LANE_BYTES = 16;

const strideOf = (dimensions: number): number => Math.ceil(dimensions / LANE_BYTES) * LANE_BYTES;

/** Bytes of a slab that a vector takes. */
export const placeBytes = (dimensions: number): number =>
  SLAB_BYTES / Math.floor(SLAB_BYTES / (strideOf(dimensions) + BESIDE_BYTES));

type Space = {
  dimensions: number;
  /** Bytes of a vector, with zeros at its end up to a multiple of a lane. */
  stride: number;
  /** Of a slab. */
  capacity: number;
  slabs: number[];
  count: number;
  numbers: Map<string, number>;
  unused: number[];
};

export const MEMORY_FULL = 'VECTORS_MEMORY_FULL';

/** Thrown where the memory is full. */
export class MemoryFull extends Error {
  readonly code = MEMORY_FULL;

  constructor() {
    super('the memory of vectors is full');
    this.name = 'MemoryFull';
  }
}

/** `onGrown` is told of a buffer that has grown, and where the vectors begin in it. */
export function createVectorMemory(
  kernels: Kernels,
  bytesMax: number,
  onGrown: (buffer: ArrayBuffer, from: number) => void = () => undefined,
) {
  const spaces = new Map<string, Space>();
  const scratch = createScratch(kernels);
  const firstSlab = Math.ceil(scratch.end / SLAB_BYTES) * SLAB_BYTES;
  const free: number[] = [];
  let end = firstSlab;
  let view = new DataView(kernels.memory.buffer);
  let bytes = new Uint8Array(kernels.memory.buffer);

  function grow(until: number): void {
    // A huge page is there as a whole before its first byte is used: afterwards, small ones would stay in its place.
    const missing = until + HUGE_PAGE_BYTES - kernels.memory.buffer.byteLength;
    if (missing <= 0) return;
    kernels.memory.grow(Math.ceil((missing + HUGE_PAGE_BYTES) / SLAB_BYTES));
    view = new DataView(kernels.memory.buffer);
    bytes = new Uint8Array(kernels.memory.buffer);
    onGrown(kernels.memory.buffer, firstSlab);
  }
  grow(firstSlab);

  function takeSlab(): number {
    const known = free.pop();
    if (known !== undefined) return known;
    if (end + SLAB_BYTES - firstSlab > bytesMax) throw new MemoryFull();
    grow(end + SLAB_BYTES);
    const slab = end;
    end += SLAB_BYTES;
    return slab;
  }

  const spaceOf = (name: string, dimensions: number): Space =>
    spaces.getOrInsertComputed(name, () => {
      const stride = strideOf(dimensions);
      const capacity = Math.floor(SLAB_BYTES / (stride + BESIDE_BYTES));
      return { dimensions, stride, capacity, slabs: [], count: 0, numbers: new Map(), unused: [] };
    });

  function placeOf({ stride, capacity, slabs }: Space, at: number) {
    const slab = slabs[Math.floor(at / capacity)] ?? 0;
    const index = at % capacity;
    const scales = slab + capacity * stride;
    return {
      vector: slab + index * stride,
      scale: scales + 4 * index,
      document: scales + 4 * (capacity + index),
      id: scales + 8 * (capacity + index),
    };
  }

  function move(space: Space, from: number, to: number): void {
    const source = placeOf(space, from);
    const target = placeOf(space, to);
    bytes.copyWithin(target.vector, source.vector, source.vector + space.stride);
    view.setUint32(target.scale, view.getUint32(source.scale));
    view.setUint32(target.document, view.getUint32(source.document));
    view.setBigUint64(target.id, view.getBigUint64(source.id));
  }

  /** The number of a document, a new one where it has none. */
  const numberOf = ({ numbers, unused }: Space, document: string): number =>
    numbers.getOrInsertComputed(document, () => unused.pop() ?? numbers.size);

  function add(space: Space, rows: Uint8Array, start: number): void {
    if (space.count === space.slabs.length * space.capacity) space.slabs.push(takeSlab());
    const place = placeOf(space, space.count++);
    const row = Buffer.from(rows.buffer, rows.byteOffset + start, ROW_HEADER_BYTES + SCALE_BYTES);
    const components = start + ROW_HEADER_BYTES + SCALE_BYTES;
    bytes.set(rows.subarray(components, components + space.dimensions), place.vector);
    bytes.fill(0, place.vector + space.dimensions, place.vector + space.stride);
    view.setUint32(place.scale, row.readUInt32LE(ROW_HEADER_BYTES), true);
    view.setUint32(place.document, numberOf(space, row.toString('latin1', 0, DOCUMENT_BYTES)), true);
    view.setBigUint64(place.id, row.readBigUInt64BE(DOCUMENT_BYTES), true);
  }

  function bitmapOf({ numbers, unused }: Space, documents: readonly string[]): Uint8Array {
    const bitmap = new Uint8Array(Math.ceil((numbers.size + unused.length) / 8));
    for (const document of documents) {
      const number = numbers.get(keyOf(document));
      if (number !== undefined) bitmap[number >>> 3] = (bitmap[number >>> 3] ?? 0) | (1 << (number & 7));
    }
    return bitmap;
  }

  function removeMarked(space: Space, bitmap: Uint8Array): void {
    const words = new Uint32Array(kernels.memory.buffer);
    for (const [index, slab] of space.slabs.entries()) {
      const documents = (slab + space.capacity * (space.stride + 4)) >>> 2;
      for (let place = 0; place < space.capacity; ) {
        const at = index * space.capacity + place;
        if (at >= space.count) return;
        if (!isMarked(bitmap, words[documents + place] ?? 0)) place++;
        else if (--space.count > at) move(space, space.count, at);
      }
    }
  }

  return {
    /** Adds rows to a space, a new one where there is none. Throws MemoryFull, with some of them added. */
    add(name: string, dimensions: number, rows: Uint8Array): void {
      const space = spaceOf(name, dimensions);
      const step = rowBytes(dimensions);
      for (let start = 0; start < rows.length; start += step) add(space, rows, start);
    },

    /** Removes all vectors of the documents. */
    remove(name: string, documents: readonly string[]): void {
      const space = spaces.get(name);
      if (space === undefined) return;
      const bitmap = bitmapOf(space, documents);
      if (bitmap.every((byte) => byte === 0)) return;
      removeMarked(space, bitmap);
      free.push(...space.slabs.splice(Math.ceil(space.count / space.capacity)));
      for (const document of documents.map(keyOf)) {
        const number = space.numbers.get(document);
        if (number === undefined) continue;
        space.numbers.delete(document);
        space.unused.push(number);
      }
    },

    forget(name: string): void {
      free.push(...(spaces.get(name)?.slabs ?? []));
      spaces.delete(name);
    },

    /** The best of each scan, best first. SCANS_MAX scans at most: each slab is read from memory once for all of them. */
    scan(name: string, scans: readonly Scan[]): Place[][] {
      const space = spaces.get(name);
      if (space === undefined) throw new Error('these vectors are not in memory');
      const scanning = scratch.begin(space.stride, scans, (documents) => bitmapOf(space, documents));
      for (const [index, slab] of space.slabs.entries())
        scanning.scan(slab, space.capacity, Math.min(space.capacity, space.count - index * space.capacity));
      return scanning.found();
    },

    /** Bytes of a space, and of all, and the vectors in all. */
    size: (name: string) => ({
      space: (spaces.get(name)?.slabs.length ?? 0) * SLAB_BYTES,
      bytes: end - firstSlab - free.length * SLAB_BYTES,
      vectors: spaces.values().reduce((sum, { count }) => sum + count, 0),
    }),
  };
}

/** Ids of documents are held as strings of 16 characters, one a byte. */
const keyOf = (document: string): string =>
  Buffer.from(document.replaceAll('-', ''), 'hex').toString('latin1');

const isMarked = (bitmap: Uint8Array, number: number): boolean =>
  (((bitmap[number >>> 3] ?? 0) >>> (number & 7)) & 1) === 1;
