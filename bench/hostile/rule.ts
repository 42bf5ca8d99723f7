// What no hostile request may cost, and whether a cell keeps to it.

import type { Cost } from './meter.ts';

export const RULE = {
  stallMs: 50,
  /** Of the largest body that an operation takes. */
  stallMsLargest: 100,
  /** Memory, as a multiple of the body as it stands in memory: unpacked, but never more than the operation takes. */
  bodies: 10,
  /** Memory of connections that are held, as a multiple of all that was sent on them. */
  held: 2,
  /** MiB on top: what the heap of a service moves by itself between two collections. */
  allowanceMiB: 24,
} as const;

/** One kind of hostile input at one route. */
export type Cell = {
  target: string;
  group: string;
  family: string;
  /** Bytes that count as the body; 0 where the caller is refused before its body is read. */
  bytes: number;
  largest: boolean;
  /** Of connections that are begun and held. */
  held?: boolean;
  /** The statuses are those of an honest caller beside it, who is to be served. */
  beside?: boolean;
};

export type Result = Cell & Cost & { statuses: readonly number[]; breaches: readonly string[] };

const MiB = 1_048_576;

const stallMsMax = ({ largest }: Cell): number => (largest ? RULE.stallMsLargest : RULE.stallMs);

export const memoryMiBMax = ({ bytes, held }: Cell): number =>
  RULE.allowanceMiB + ((held === true ? RULE.held : RULE.bodies) * bytes) / MiB;

/** Which rules the cell breaks, in words. 501 is an answer that the interface knows: of what no upstream is there for. */
export function breachesOf(cell: Cell, cost: Cost, statuses: readonly number[]): string[] {
  const bad = statuses.filter((status) =>
    cell.beside === true ? status < 200 || status >= 300 : status >= 500 && status !== 503 && status !== 501,
  );
  return [
    ...(cost.stallMs > stallMsMax(cell) ? [`stall of ${Math.round(cost.stallMs)} ms`] : []),
    ...(cost.memoryMiB > memoryMiBMax(cell) ? [`${Math.round(cost.memoryMiB)} MiB`] : []),
    ...(bad.length > 0 ? [`status ${[...new Set(bad)].join(', ')}`] : []),
  ];
}
