// Documents for which a kind of jobs has yet to do something: confirmed before there was that kind, or while it was off. They are
// queued a few at a time, as jobs of a kind of their own, after each of the last few was begun, so that a new document never waits for
// all the old ones.

import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic } from '../../core/periodic.ts';
import { sleep } from '../../core/wait.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { exclusively } from '../../infra/postgres/exclusive.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import { FIRST_ID } from '../rows.ts';

/** Documents that are queued at once: few, so that the queue stays small; and those that are looked through for them. */
const BATCH = 100;
const SCAN = 2000;
const PAUSE_MS = 500;

/** Returns a run that resolves when all documents were looked through, and each that was queued was begun. */
export function createCatchUp(deps: {
  kind: string;
  /** Queues documents in the order of their ids; returns where to go on, undefined at the end. */
  queueSome(page: {
    after: string;
    scan: number;
    limit: number;
  }): Promise<{ queued: number; next: string | undefined }>;
  queue: Pick<JobQueue, 'backlog'>;
  /** Jobs were queued. */
  wake(): void;
}) {
  const noneIsDue = async (): Promise<boolean> =>
    (await deps.queue.backlog()).find(({ kind }) => kind === deps.kind)?.lagSeconds === 0;
  return async (signal: AbortSignal): Promise<void> => {
    let after: string | undefined = FIRST_ID;
    while (after !== undefined && !signal.aborted) {
      const page = await deps.queueSome({ after, scan: SCAN, limit: BATCH });
      after = page.next;
      if (page.queued === 0) continue;
      deps.wake();
      while (!signal.aborted && !(await noneIsDue())) await sleep(PAUSE_MS, signal);
    }
  };
}

/**
 * A periodic job that catches up, in one process at a time: at start, and after each interval. While another process does it,
 * or one that was killed still has the lock, it looks again soon, so that the work goes on where that process ends.
 */
export function createCatchUpJob(options: {
  sql: Sql;
  name: string;
  intervalMs: number;
  /** Another run follows soon where it resolves to `again`. */
  run(signal: AbortSignal): Promise<unknown>;
  log: Logger;
}): Job {
  const { sql, name, run } = options;
  return createPeriodic({
    ...options,
    async run(signal) {
      const outcome = await exclusively(sql, name, async (lease) => {
        const ran = await run(AbortSignal.any([signal, lease.signal]));
        return lease.signal.aborted ? 'again' : ran;
      });
      return outcome === 'held' ? 'again' : outcome;
    },
  });
}
