// Keeps conversations going after a crash: every second this process extends its lease, checks whether one of its
// answers is first without its knowledge, and takes over the answers of dead processes.

import { upstreamFailed } from '../core/errors.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { ATTEMPTS_MAX, RECOVERED_MAX, TICK_MS } from './limits.ts';
import type { ChatCounts } from './metrics.ts';
import { type Lease, toFailure } from './pending-answer.ts';
import type { SessionQueue } from './session-queue.ts';
import type { FirstInLine, RecoveryStore } from './store/recovery.ts';
import type { TurnStore } from './store/turns.ts';

/** The part of the shutdown time-out for answers without a waiting client. */
const CLOSE_MS = 5000;

export type RecoveryDeps = {
  store: RecoveryStore;
  turns: Pick<TurnStore, 'finish'>;
  lease: Lease;
  line: SessionQueue;
  counts: ChatCounts;
  log: Logger;
};

export function createRecovery({ store, turns, lease, line, counts, log }: RecoveryDeps): Job {
  const recovered = new Set<number>();

  const takeOver = async (first: FirstInLine): Promise<void> => {
    const takenAt = performance.now();
    const turn = await store.adopt(first);
    if (turn === undefined) return;
    counts.recovered += 1;
    log.info({ answer_id: turn.answerId, attempt: turn.attempt }, 'an answer is taken over');
    if (turn.recoveries >= ATTEMPTS_MAX) {
      const failure = toFailure(upstreamFailed('The answer could not be made'));
      const finished = await turns.finish(turn, { failure });
      if (finished.outcome === 'stored' && finished.nextId !== null)
        line.isFirst(finished.nextId, finished.historyVersion);
      return line.isOver(turn.answerId);
    }
    recovered.add(turn.answerId);
    const { outcome } = line.enter(turn, { isFirst: true, takenAt });
    void outcome.catch(() => undefined).finally(() => recovered.delete(turn.answerId));
  };
  const look = async (signal: AbortSignal): Promise<void> => {
    await lease.renew(store.live);
    await line.check();
    for (const first of await store.firstsInLine()) {
      if (signal.aborted) return;
      if (first.isMine && line.knows(first.answerId)) line.isFirst(first.answerId);
      else if (first.isLost && recovered.size < RECOVERED_MAX) await takeOver(first);
    }
  };
  const ticking = createPeriodic({ name: 'chat.line', intervalMs: TICK_MS, run: look, log });

  return {
    ...ticking,
    async start() {
      // Questions that are taken from now on are this process's.
      await lease.renew(store.live);
      await store.forgetDead();
      await ticking.start();
    },
    async stop() {
      await line.close(CLOSE_MS);
      await ticking.stop();
      await store.leave();
    },
  };
}
