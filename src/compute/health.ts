import { counter, gauge, type Metric } from '../http/metrics.ts';
import type { ReadinessCheck } from '../http/readiness.ts';
import type { PoolMetrics } from '../infra/wasm/pool-metrics.ts';

const LANES = ['short', 'long'] as const;
const ENDINGS = ['done', 'cancelled', 'late', 'failed', 'refused'] as const;

export function computeCheck(metrics: () => PoolMetrics): ReadinessCheck {
  return {
    name: 'compute',
    essential: false,
    across: { threads: 'sum', running: 'sum', waiting: 'sum' },
    check: async () => {
      const { threads, lanes } = metrics();
      const load = {
        threads: threads.open,
        running: lanes.short.running + lanes.long.running,
        waiting: lanes.short.waiting + lanes.long.waiting,
      };
      if (threads.open >= threads.wanted) return { state: 'ready', ...load };
      const detail = 'threads for compute and embeddings are being replaced';
      return { state: threads.open === 0 ? 'down' : 'degraded', detail, ...load };
    },
  };
}

export function computeMetrics(metrics: () => PoolMetrics): Metric[] {
  const byLane = (field: 'waiting' | 'running') => () =>
    LANES.map((lane) => ({ labels: { lane }, value: metrics().lanes[lane][field] }));
  const secondsByKind = (field: 'waitMs' | 'runMs') => () =>
    [...metrics().kinds].map(([kind, each]) => ({ labels: { kind }, value: each[field] / 1000 }));
  return [
    gauge('atrium_compute_threads', 'Threads for compute and embeddings.', () => metrics().threads.open),
    counter(
      'atrium_compute_threads_replaced_total',
      'Threads that ended by themselves.',
      () => metrics().threads.replaced,
    ),
    gauge('atrium_compute_waiting', 'Work that waits for a thread.', byLane('waiting')),
    gauge('atrium_compute_running', 'Work that has begun.', byLane('running')),
    counter('atrium_compute_work_total', 'Work by its kind and how it ended.', () =>
      [...metrics().kinds].flatMap(([kind, each]) =>
        ENDINGS.map((ending) => ({ labels: { kind, ending }, value: each[ending] })),
      ),
    ),
    counter(
      'atrium_compute_wait_seconds_total',
      'Time from arrival to the first thread.',
      secondsByKind('waitMs'),
    ),
    counter(
      'atrium_compute_run_seconds_total',
      'Time on threads, of work that was done there.',
      secondsByKind('runMs'),
    ),
  ];
}
