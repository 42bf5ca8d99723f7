// A time window as the fewest time buckets: whole days, whole hours or minutes, and what is finer at the ends. Pure.

/** Buckets of a grain (in seconds) that start in [from, until), in milliseconds; undefined: open. */
export type BucketRange = { grain: number; from: number | undefined; until: number | undefined };

/** Buckets that cover [from, until) exactly, without overlap. `grains`: their sizes, the largest first; 0: single rows. */
export function bucketsOf(
  from: number | undefined,
  until: number | undefined,
  grains: readonly number[],
): BucketRange[] {
  const [grain = 0, ...finer] = grains;
  if (from !== undefined && until !== undefined && from >= until) return [];
  if (grain === 0) return [{ grain, from, until }];
  const size = grain * 1000;
  const begin = from === undefined ? undefined : Math.ceil(from / size) * size;
  const end = until === undefined ? undefined : Math.floor(until / size) * size;
  if (begin !== undefined && end !== undefined && begin >= end) return bucketsOf(from, until, finer);
  return [
    ...(begin === undefined ? [] : bucketsOf(from, begin, finer)),
    { grain, from: begin, until: end },
    ...(end === undefined ? [] : bucketsOf(end, until, finer)),
  ];
}
