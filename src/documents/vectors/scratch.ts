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

/** Where scans are done together, so many components of each stand together. */
const RUN = 8;
const COMPONENTS_BYTES = 2 * DIMENSIONS_MAX;
/** One for each scan, and one that stays empty where three are done as four. */
const PARTS = SCANS_MAX + 1;

/** `scan` offers the first vectors of a slab to all scans; `found` has the best of each, best first. */
export type Scanning = { scan(slab: number, capacity: number, count: number): void; found(): Place[][] };

export function createScratch(kernels: Kernels) {
  const start = kernels.base();
  const partAt = (index: number): number => start + index * SCRATCH_BYTES;
  /** Components of several scans, of which the first has the part with this index. */
  const queriesAt = (index: number): number => partAt(PARTS) + index * COMPONENTS_BYTES;

  return {
    /** Behind it other data may stand. The memory has to reach up to there before scans begin. */
    end: queriesAt(PARTS),

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

      /** Returns the address of its bitmap, 0 where it goes by none. */
      function prepare(scan: Scan, query: number): number {
        const { components, limit, behind, documents } = scan;
        const heap = query + HEAP_AT;
        heaps.set(scan, heap);
        bytes.fill(0, query, query + 2 * stride);
        new Int16Array(buffer, query, components.length).set(components);
        view.setUint32(heap, Math.min(limit, FOUND_MAX), true);
        view.setUint32(heap + 4, 0, true);
        view.setFloat32(heap + 8, behind?.score ?? Number.POSITIVE_INFINITY, true);
        view.setBigUint64(heap + 16, behind?.id ?? 0n, true);
        if (documents === undefined) return 0;
        bytes.set(bitmapOf(documents), query + BITMAP_AT);
        return query + BITMAP_AT;
      }

      function prepareGroup(group: readonly Scan[], index: number): Scanning['scan'] {
        const query = partAt(index);
        const heap = query + HEAP_AT;
        const [allowed = 0] = group.map((scan, place) => prepare(scan, partAt(index + place)));
        if (group.length === 1)
          return (slab, capacity, count) => kernels.scan(slab, capacity, count, stride, query, allowed, heap);
        const size = sizeOf(group);
        for (let place = group.length; place < size; place++) prepareEmpty(heap + place * SCRATCH_BYTES);
        const queries = queriesAt(index);
        const all = new Int16Array(buffer, queries, size * stride).fill(0);
        for (const [place, { components }] of group.entries())
          for (let at = 0; at < components.length; at += RUN)
            all.set(components.subarray(at, at + RUN), size * at + place * RUN);
        const kernel = size === 2 ? kernels.scanTwo : kernels.scanFour;
        return (slab, capacity, count) => kernel(slab, capacity, count, stride, queries, heap, SCRATCH_BYTES);
      }

      /** A full heap, which no score enters. */
      function prepareEmpty(heap: number): void {
        bytes.fill(0, heap, heap + HEAP_HEADER_BYTES);
        view.setFloat32(heap + HEAP_HEADER_BYTES, Number.POSITIVE_INFINITY, true);
      }

      function readHeap(heap: number): Place[] {
        const entries = heap + HEAP_HEADER_BYTES;
        const found = Array.from({ length: view.getUint32(heap + 4, true) }, (_, index) => ({
          score: view.getFloat32(entries + ENTRY_BYTES * index, true),
          id: view.getBigUint64(entries + ENTRY_BYTES * index + 8, true),
        }));
        return found.sort(byScore);
      }

      let parts = 0;
      const groups = arrange(scans).map((group) => {
        parts += sizeOf(group);
        return prepareGroup(group, parts - sizeOf(group));
      });
      return {
        scan(...slab) {
          for (const scanGroup of groups) scanGroup(...slab);
        },
        found: () => scans.map((scan) => readHeap(heaps.get(scan) ?? 0)),
      };
    },
  };
}

/** Which scans read a vector together: four or three, two, or one. Those of some documents alone pass over most vectors. */
function arrange(scans: readonly Scan[]): Scan[][] {
  const wide = scans.filter(({ documents }) => documents === undefined);
  const groups = scans.filter(({ documents }) => documents !== undefined).map((scan) => [scan]);
  while (wide.length > 0) groups.push(wide.splice(0, 4));
  return groups;
}

/** Places that the kernel has for a group: three as four take it less time than two and one. */
const sizeOf = (group: readonly Scan[]): number => (group.length === 3 ? 4 : group.length);
