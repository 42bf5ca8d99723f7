import type { Clock } from '../core/clock.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { REPLY_RETENTION_MS, REPLY_SWEEP_INTERVAL_MS, REPLY_SWEEP_STEP } from './limits.ts';
import type { ReplyStore } from './store/replies.ts';

type Deps = { sql: Sql; replies: Pick<ReplyStore, 'deleteSome'>; clock: Clock; log: Logger };

/** Deletes replies that are older than the platform repeats events. */
export const createReplySweep = ({ sql, replies, clock, log }: Deps): Job =>
  createSweep({
    sql,
    name: 'bots.replies',
    intervalMs: REPLY_SWEEP_INTERVAL_MS,
    horizon: () => new Date(clock.now().getTime() - REPLY_RETENTION_MS),
    deleteSome: (before) => replies.deleteSome(before, REPLY_SWEEP_STEP),
    log,
  });
