// The vectors of a workspace by one model, in a linear memory of their own, which the kernel (assembly/vectors.ts) scans.

import { byScore, type NearestPassage } from './engine.ts';
import { DIMENSIONS_MAX } from './limits.ts';

/** The exports of assembly/vectors.ts. */
type Kernel = {
  memory: WebAssembly.Memory;
  base(): number;
  scan(rows: number, count: number, stride: number, query: number, allowed: number, heap: number): void;
};

/** A stored row: the id of the document (16 bytes), the id of the passage (8, big-endian), the scale (4), the components. */
const STORED_ID_AT = 16;
const STORED_SCALE_AT = 24;
const STORED_COMPONENTS_AT = 28;

/** A row of the kernel: the components, padded to a multiple of 16; then the scale (4), the document's number (4), the id (8). */
const strideOf = (dimensions: number): number => Math.ceil(dimensions / 16) * 16;
const ROW_END_BYTES = 16;

const HEAP_ENTRIES_AT = 8;
const HEAP_ENTRY_BYTES = 16;
const PAGE_BYTES = 65_536;
/** The memory grows by at least this share, so that small additions rarely copy it. */
const GROWTH = 1 / 16;

/** The bytes that one vector takes in memory. */
export const rowBytes = (dimensions: number): number => strideOf(dimensions) + ROW_END_BYTES;

export function createVectorMemory(module: WebAssembly.Module, dimensions: number) {
  const { memory, base, scan } = new WebAssembly.Instance(module).exports as unknown as Kernel;
  const query = base();
  const first = query + 2 * DIMENSIONS_MAX;
  const stride = strideOf(dimensions);
  const step = rowBytes(dimensions);
  /** The number of each document that has ever been added. */
  const numbers = new Map<string, number>();
  let count = 0;

  const rowsEnd = (): number => first + count * step;

  /** Throws a RangeError beyond 4 GiB. */
  function reserve(end: number): void {
    const missing = end - memory.buffer.byteLength;
    if (missing <= 0) return;
    const wanted = Math.max(missing, memory.buffer.byteLength * GROWTH);
    memory.grow(Math.ceil(wanted / PAGE_BYTES));
  }

  function bitmapOf(documents: readonly string[]): Uint8Array {
    const bitmap = new Uint8Array(Math.ceil(numbers.size / 8));
    for (const document of documents) {
      const number = numbers.get(keyOf(document));
      if (number !== undefined) bitmap[number >>> 3] = (bitmap[number >>> 3] ?? 0) | (1 << (number & 7));
    }
    return bitmap;
  }

  return {
    bytes: (): number => memory.buffer.byteLength,
    count: (): number => count,

    /** Makes room for so many more vectors at once. */
    reserve: (vectors: number): void => reserve(rowsEnd() + vectors * step),

    /** Adds stored rows. */
    add(rows: Uint8Array): void {
      const stored = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
      const storedBytes = STORED_COMPONENTS_AT + dimensions;
      reserve(rowsEnd() + (stored.length / storedBytes) * step);
      const bytes = new Uint8Array(memory.buffer);
      const view = new DataView(memory.buffer);
      for (let at = 0; at < stored.length; at += storedBytes) {
        const row = rowsEnd();
        const end = row + stride;
        const document = stored.toString('latin1', at, at + STORED_ID_AT);
        bytes.set(stored.subarray(at + STORED_COMPONENTS_AT, at + storedBytes), row);
        bytes.fill(0, row + dimensions, end);
        bytes.set(stored.subarray(at + STORED_SCALE_AT, at + STORED_COMPONENTS_AT), end);
        view.setUint32(end + 4, numbers.getOrInsert(document, numbers.size), true);
        view.setBigUint64(end + 8, stored.readBigUInt64BE(at + STORED_ID_AT), true);
        count += 1;
      }
    },

    /** Removes all vectors of the documents; vectors from the end take their places. */
    remove(documents: readonly string[]): void {
      const bitmap = bitmapOf(documents);
      const bytes = new Uint8Array(memory.buffer);
      const view = new DataView(memory.buffer);
      for (let row = first; row < rowsEnd(); ) {
        const number = view.getUint32(row + stride + 4, true);
        if ((((bitmap[number >>> 3] ?? 0) >>> (number & 7)) & 1) === 0) row += step;
        else {
          count -= 1;
          bytes.copyWithin(row, rowsEnd(), rowsEnd() + step);
        }
      }
    },

    /** The vectors with the highest scores, best first; with `documents`, only vectors of these. */
    nearest(
      components: Int16Array,
      limit: number,
      documents: readonly string[] | undefined,
    ): NearestPassage[] {
      const bitmap = documents === undefined ? undefined : bitmapOf(documents);
      const allowed = rowsEnd();
      const heap = Math.ceil((allowed + (bitmap?.length ?? 0)) / 8) * 8;
      const size = Math.min(limit, count);
      reserve(heap + HEAP_ENTRIES_AT + size * HEAP_ENTRY_BYTES);
      const { buffer } = memory;
      const view = new DataView(buffer);
      new Int16Array(buffer, query, stride).fill(0).set(components);
      if (bitmap !== undefined) new Uint8Array(buffer).set(bitmap, allowed);
      view.setUint32(heap, size, true);
      view.setUint32(heap + 4, 0, true);
      if (size > 0) scan(first, count, stride, query, bitmap === undefined ? 0 : allowed, heap);
      return Array.from({ length: view.getUint32(heap + 4, true) }, (_, index) => {
        const entry = heap + HEAP_ENTRIES_AT + index * HEAP_ENTRY_BYTES;
        return { score: view.getFloat32(entry, true), id: view.getBigUint64(entry + 8, true) };
      }).sort(byScore);
    },
  };
}

/** The ids of documents are kept as strings of 16 characters, one for each byte. */
const keyOf = (document: string): string =>
  Buffer.from(document.replaceAll('-', ''), 'hex').toString('latin1');
