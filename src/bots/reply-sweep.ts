import type { Clock } from '../core/clock.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { exclusively } from '../infra/postgres/exclusive.ts';
import { REPLY_RETENTION_MS, REPLY_SWEEP_INTERVAL_MS, REPLY_SWEEP_STEP } from './limits.ts';
import type { ReplyStore } from './store/replies.ts';

/** Deletes replies that are older than the platform repeats events. */
export function createReplySweep({
  sql,
  replies,
  clock,
  log,
}: {
  sql: Sql;
  replies: Pick<ReplyStore, 'deleteSome'>;
  clock: Clock;
  log: Logger;
}): Job {
  return createPeriodic({
    name: 'bots.replies',
    intervalMs: REPLY_SWEEP_INTERVAL_MS,
    run: (signal) =>
      exclusively(sql, 'bots.replies', async (lock) => {
        const before = new Date(clock.now().getTime() - REPLY_RETENTION_MS);
        while (
          !signal.aborted &&
          !lock.signal.aborted &&
          (await replies.deleteSome(before, REPLY_SWEEP_STEP)) > 0
        );
      }),
    log,
  });
}
