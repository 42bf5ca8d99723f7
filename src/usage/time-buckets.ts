// A span of time as the fewest counted pieces: whole days, whole minutes, and at the ends single batches. Pure.

/** Seconds of the counts that are kept (`usage_counts.grain`); 0: of one batch each. */
const GRAINS = [86_400, 60, 0] as const;

/** Counts of a grain that start in [from, until), milliseconds; undefined: open. */
export type Piece = { grain: number; from: number | undefined; until: number | undefined };

/** Pieces that cover [from, until) exactly, without overlap. */
export function piecesOf(
  from: number | undefined,
  until: number | undefined,
  grains: readonly number[] = GRAINS,
): Piece[] {
  const [grain = 0, ...finer] = grains;
  if (from !== undefined && until !== undefined && from >= until) return [];
  if (grain === 0) return [{ grain, from, until }];
  const size = grain * 1000;
  const begin = from === undefined ? undefined : Math.ceil(from / size) * size;
  const end = until === undefined ? undefined : Math.floor(until / size) * size;
  if (begin !== undefined && end !== undefined && begin >= end) return piecesOf(from, until, finer);
  return [
    ...(begin === undefined ? [] : piecesOf(from, begin, finer)),
    { grain, from: begin, until: end },
    ...(end === undefined ? [] : piecesOf(end, until, finer)),
  ];
}
