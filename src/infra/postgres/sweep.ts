import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic, UPKEEP_DELAY_MS } from '../../core/periodic.ts';
import type { Sql } from './client.ts';
import { exclusively } from './exclusive.ts';

/** A periodic job that deletes outdated rows in steps, in one process at a time. `deleteSome` returns 0 when none is left. */
export function createSweep(options: {
  sql: Sql;
  name: string;
  intervalMs: number;
  /** Older rows are outdated. The moment is read once a run, so that a run ends although further rows become outdated. */
  horizon(): Date;
  deleteSome(before: Date): Promise<number>;
  log: Logger;
}): Job {
  const { sql, name, intervalMs, horizon, deleteSome, log } = options;
  const run = (signal: AbortSignal) =>
    exclusively(sql, name, async (lock) => {
      const before = horizon();
      while (!signal.aborted && !lock.signal.aborted && (await deleteSome(before)) > 0);
    });
  return createPeriodic({ name, intervalMs, delayMs: UPKEEP_DELAY_MS, run, log });
}
