// Refusals for overload: counted for /metrics, logged once, and shown in /readyz while they last.

import type { Logger } from '../../core/logger.ts';
import type { ServiceState } from '../readiness.ts';
import type { RefusalReason } from './fair-semaphore.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { LimitedWork } from './work.ts';

/** `memory`: the process is at its ceiling. */
export type Reason = Exclude<RefusalReason, 'ending'> | 'memory';

/** Refusals that follow one another within this time are of one overload. */
const CALM_AFTER_MS = 10_000;
/** A shorter overload is none that a balancer should know. */
const LASTING_MS = 10_000;

export type Refusals = ReturnType<typeof createRefusals>;

export function createRefusals(log: Logger, nowMs: () => number = () => performance.now()) {
  const counts = new Map<string, { work: LimitedWork; reason: Reason; count: number }>();
  let begunAtMs = 0;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  const isOverloaded = (): boolean => nowMs() - lastAtMs < CALM_AFTER_MS;
  return {
    add(work: LimitedWork, reason: Reason): void {
      const name = `${work} ${reason}`;
      const found = counts.get(name) ?? { work, reason, count: 0 };
      found.count++;
      counts.set(name, found);
      if (!isOverloaded()) {
        begunAtMs = nowMs();
        log.warn({ work, reason }, 'overload: requests are refused, those that follow are only counted');
      }
      lastAtMs = nowMs();
    },
    counts: () => [...counts.values()],
    /** Whether requests have been refused for so long that it is no burst. */
    isLasting: () => isOverloaded() && lastAtMs - begunAtMs >= LASTING_MS,
  };
}

type Capacity = { refusals: Refusals; memory: MemoryGuard | undefined };

/** The state of the process itself among the backing services. `down`: it refuses all work. */
export function capacityState({ refusals, memory }: Capacity): ServiceState {
  const level = memory?.level() ?? 'fine';
  if (level === 'full') return { state: 'down', detail: 'the memory is at MEMORY_MAX: all work is refused' };
  if (level === 'tight')
    return { state: 'degraded', detail: 'the memory is close to MEMORY_MAX: large work is refused' };
  if (refusals.isLasting())
    return { state: 'degraded', detail: 'overload: more requests arrive than are answered in time' };
  return { state: 'ready' };
}
