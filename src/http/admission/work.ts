// The classes of work. Each has permits of its own, so that no other class can take them.

/**
 * `exempt`: always begun, whatever else runs: probes, sign-in, revocation. `heavy`: many rows, or much computation. `model`: waits
 * for others, a model above all, and may stream for minutes.
 */
export type Work = 'exempt' | LimitedWork;
export type LimitedWork = (typeof LIMITED_WORK)[number];

export const LIMITED_WORK = ['read', 'write', 'heavy', 'model'] as const;

/**
 * Requests that run at once in one process. More would not be answered sooner: the statements of the first two would wait for
 * the database's connections, and beyond the bound of the last, streams would take gigabytes.
 */
export const PERMITS: Record<LimitedWork, number> = { read: 256, write: 128, heavy: 64, model: 4096 };

/** Requests that may wait for a permit of one class; beyond, one of the workspace with most of them is refused. */
export const WAITING_MAX = 1024;

/** The class of an operation that states none. */
export const workOf = ({
  work,
  area,
  method,
}: {
  work?: Work | undefined;
  area: string;
  method: string;
}): Work => work ?? (area === 'health' ? 'exempt' : method === 'GET' ? 'read' : 'write');
