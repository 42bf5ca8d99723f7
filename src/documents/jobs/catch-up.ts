// Documents for which a kind of jobs has yet to do something: confirmed before there was that kind, by an earlier version, or
// while it was off. They are queued a few at a time, as jobs of a kind of their own, after each of the last few was begun, so
// that a new document never waits for all the old ones. Jobs that failed are repeated later, and the others do not wait for them.

import { sleep } from '../../core/wait.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import { FIRST_ID } from '../rows.ts';

/** Documents that are queued at once: few, so that the queue stays small; and those that are looked through for them. */
const BATCH = 100;
const SCAN = 2000;
const PAUSE_MS = 500;

/** Queues documents in the order of their ids; returns where to go on, undefined at the end. */
export type QueueSome = (page: {
  after: string;
  scan: number;
  limit: number;
}) => Promise<{ queued: number; next: string | undefined }>;

/** Resolves when all documents were looked through, and each that was queued was begun. */
export function createCatchUp(deps: {
  kind: string;
  queueSome: QueueSome;
  queue: Pick<JobQueue, 'backlog'>;
  /** Jobs were queued. */
  wake(): void;
}) {
  const noneIsDue = async (): Promise<boolean> => {
    const backlog = await deps.queue.backlog();
    return backlog.find(({ kind }) => kind === deps.kind)?.lagSeconds === 0;
  };
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
