// The part of the kernel's memory (assembly/vectors.ts) that scans work in: each has its query, its results, and its bitmap there.

import type { Kernels } from './kernels.ts';
import { DIMENSIONS_MAX, FOUND_MAX, SCANS_MAX, SCRATCH_BYTES } from './limits.ts';
import { byScore, type Place } from './place.ts';

export type Scan = {
  components: Int16Array;
  /** At most FOUND_MAX. */
  limit: number;
  /** Only what comes behind it. */
  behind: Place | undefined;
  /** Only passages of these. */
  documents: readonly string[] | undefined;
};

/** Where a scan has its heap and its bitmap: behind the components of its query, which begin its part of the scratch. */
const HEAP_AT = 2 * DIMENSIONS_MAX;
const HEAP_HEADER_BYTES = 32;
const ENTRY_BYTES = 16;
const BITMAP_AT = HEAP_AT + HEAP_HEADER_BYTES + ENTRY_BYTES * FOUND_MAX;

/** Scans that the kernel does together. Of three that are left one place stays empty; fewer are done one by one. */
const FOUR = 4;
const FOUR_MIN = 3;
/** Their queries, of which so many components of each stand together. */
const FOUR_BYTES = FOUR * 2 * DIMENSIONS_MAX;
const RUN = 8;
/** One for each scan, and for an empty place. */
const PARTS = SCANS_MAX + FOUR - FOUR_MIN;

/** Addresses. */
type Single = { query: number; heap: number; allowed: number };
type Four = { queries: number; heaps: number };

/** `scan` offers the first vectors of a slab to all scans; `found` has the best of each, best first. */
export type Scanning = { scan(slab: number, capacity: number, count: number): void; found(): Place[][] };

export function createScratch(kernels: Kernels) {
  const start = kernels.base();
  const partAt = (index: number): number => start + index * SCRATCH_BYTES;
  const queriesAt = (four: number): number => partAt(PARTS) + four * FOUR_BYTES;

  return {
    /** Behind it other data may stand. The memory has to reach up to there before scans begin. */
    end: queriesAt(Math.ceil(SCANS_MAX / FOUR)),

    /** `stride`: of a vector, in bytes. SCANS_MAX scans at most; the memory may not grow until they have ended. */
    begin(
      stride: number,
      scans: readonly Scan[],
      bitmapOf: (documents: readonly string[]) => Uint8Array,
    ): Scanning {
      const { buffer } = kernels.memory;
      const view = new DataView(buffer);
      const bytes = new Uint8Array(buffer);
      const heaps = new Map<Scan, number>();

      function prepare(scan: Scan, query: number): Single {
        const { components, limit, behind, documents } = scan;
        const heap = query + HEAP_AT;
        heaps.set(scan, heap);
        bytes.fill(0, query, query + 2 * stride);
        new Int16Array(buffer, query, components.length).set(components);
        view.setUint32(heap, Math.min(limit, FOUND_MAX), true);
        view.setUint32(heap + 4, 0, true);
        view.setFloat32(heap + 8, behind?.score ?? Number.POSITIVE_INFINITY, true);
        view.setBigUint64(heap + 16, behind?.id ?? 0n, true);
        if (documents === undefined) return { query, heap, allowed: 0 };
        bytes.set(bitmapOf(documents), query + BITMAP_AT);
        return { query, heap, allowed: query + BITMAP_AT };
      }

      /** A place that is left has a full heap, which no score enters. */
      function prepareFour(some: readonly Scan[], four: number): Four {
        const first = partAt(FOUR * four) + HEAP_AT;
        const all = new Int16Array(buffer, queriesAt(four), FOUR * stride).fill(0);
        for (const [place, scan] of some.entries()) {
          prepare(scan, partAt(FOUR * four + place));
          for (let at = 0; at < scan.components.length; at += RUN)
            all.set(scan.components.subarray(at, at + RUN), FOUR * at + place * RUN);
        }
        for (let place = some.length; place < FOUR; place++) {
          const heap = first + place * SCRATCH_BYTES;
          bytes.fill(0, heap, heap + HEAP_HEADER_BYTES);
          view.setFloat32(heap + HEAP_HEADER_BYTES, Number.POSITIVE_INFINITY, true);
        }
        return { queries: queriesAt(four), heaps: first };
      }

      function readHeap(heap: number): Place[] {
        const entries = heap + HEAP_HEADER_BYTES;
        const found = Array.from({ length: view.getUint32(heap + 4, true) }, (_, index) => ({
          score: view.getFloat32(entries + ENTRY_BYTES * index, true),
          id: view.getBigUint64(entries + ENTRY_BYTES * index + 8, true),
        }));
        return found.sort(byScore);
      }

      const { together, single } = arrange(scans);
      const fours = together.map(prepareFour);
      const singles = single.map((each, index) => prepare(each, partAt(FOUR * fours.length + index)));
      return {
        scan(slab, capacity, count) {
          for (const four of fours)
            kernels.scanFour(slab, capacity, count, stride, four.queries, four.heaps, SCRATCH_BYTES);
          for (const { query, allowed, heap } of singles)
            kernels.scan(slab, capacity, count, stride, query, allowed, heap);
        },
        found: () => scans.map((scan) => readHeap(heaps.get(scan) ?? 0)),
      };
    },
  };
}

/** Which scans read a vector together; those of some documents alone pass over most of them. */
function arrange(scans: readonly Scan[]): { together: Scan[][]; single: Scan[] } {
  const wide = scans.filter(({ documents }) => documents === undefined);
  const narrow = scans.filter(({ documents }) => documents !== undefined);
  const together: Scan[][] = [];
  while (wide.length >= FOUR_MIN) together.push(wide.splice(0, FOUR));
  return { together, single: [...wide, ...narrow] };
}
