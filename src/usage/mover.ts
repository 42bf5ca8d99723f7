// Moves events from the outbox into the stored events, soon after a commit that has added some, and once a second.

import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { OUTBOX_BATCH_MAX, OUTBOX_INTERVAL_MS, OUTBOX_LINGER_MS } from './limits.ts';
import { isRefusal, isTimeout, type SinkMetrics } from './sink.ts';
import type { OutboxStore } from './store/outbox.ts';

/** A pause is this many times as long as the work before it, so that moving uses only a part of the database. */
const PAUSE_FACTOR = 4;

export function createMover(deps: {
  store: Pick<OutboxStore, 'oldest' | 'move' | 'bury' | 'close'>;
  log: Logger;
}) {
  const { store, log } = deps;
  const metrics: SinkMetrics = { stored: 0, deadLetters: 0, failures: 0 };
  let batchMax = OUTBOX_BATCH_MAX;
  let pauseMs = OUTBOX_LINGER_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let scheduled = false;

  /** Moves a batch and returns whether more may wait. An event that the database refuses is found by halving. */
  const moveBatch = async (): Promise<boolean> => {
    const limit = batchMax;
    const ids = await store.oldest(limit);
    const [first] = ids;
    if (first === undefined) return false;
    try {
      await store.move(ids);
      metrics.stored += ids.length;
      batchMax = Math.min(OUTBOX_BATCH_MAX, limit * 2);
      return ids.length === limit;
    } catch (error) {
      if (isTimeout(error) || isRefusal(error)) batchMax = Math.ceil(ids.length / 2);
      if (!isRefusal(error)) throw error;
      if (ids.length === 1) await bury(first, error.message);
      return true;
    }
  };
  const bury = async (id: number, reason: string): Promise<void> => {
    const letter = await store.bury(id, reason);
    if (letter === undefined) return;
    metrics.deadLetters += 1;
    log.error({ workspace_id: letter.workspaceId, reason }, 'an event of the outbox became a dead letter');
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    // A later commit schedules the next run.
    scheduled = false;
    const startedAt = performance.now();
    try {
      while ((await moveBatch()) && !signal.aborted);
    } catch (error) {
      metrics.failures += 1;
      throw error;
    } finally {
      const tookMs = performance.now() - startedAt;
      pauseMs = Math.min(OUTBOX_INTERVAL_MS, Math.max(OUTBOX_LINGER_MS, PAUSE_FACTOR * tookMs));
    }
  };
  const periodic = createPeriodic({ name: 'usage.outbox', intervalMs: OUTBOX_INTERVAL_MS, run, log });

  return {
    metrics,
    /** Schedules the move of the events that were committed before the call, together with those of the next moments. */
    wake(): void {
      if (scheduled) return;
      scheduled = true;
      timer = setTimeout(() => void periodic.settle?.(), pauseMs);
    },
    job: {
      ...periodic,
      async stop(): Promise<void> {
        clearTimeout(timer);
        await periodic.stop();
        // Another process moves the remaining events, or this one after the next start.
        await moveBatch().catch((error: unknown) =>
          log.debug({ err: error }, 'events stay in the outbox for now'),
        );
        store.close();
      },
    },
  };
}
