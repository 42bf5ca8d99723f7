// Documents that were confirmed before contents were read, by an earlier version, or while that was off: they are queued a few
// at a time, after the last few have been read, in one process at a time. What has been queued is known by its row, so that
// it goes on where it was.

import { sleep } from '../../core/wait.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import { FIRST_ID } from '../rows.ts';
import { CATCH_UP_BATCH, CATCH_UP_PAUSE_MS, CATCH_UP_SCAN } from './limits.ts';
import { type ContentStore, EARLIER_READING } from './store.ts';

export function createCatchUp(deps: {
  store: Pick<ContentStore, 'queueUnknown'>;
  queue: Pick<JobQueue, 'backlog'>;
  /** Jobs were queued. */
  wake(): void;
}) {
  const areRead = async (): Promise<boolean> => {
    const backlog = await deps.queue.backlog();
    return backlog.find(({ kind }) => kind === EARLIER_READING)?.waiting === 0;
  };
  return async (signal: AbortSignal): Promise<void> => {
    let after: string | undefined = FIRST_ID;
    while (after !== undefined && !signal.aborted) {
      const page = await deps.store.queueUnknown({ after, scan: CATCH_UP_SCAN, limit: CATCH_UP_BATCH });
      after = page.next;
      if (page.queued === 0) continue;
      deps.wake();
      while (!signal.aborted && !(await areRead())) await sleep(CATCH_UP_PAUSE_MS, signal);
    }
  };
}
