import type { ReadinessCheck } from '../http/health.ts';
import type { Metric } from '../http/metrics.ts';
import type { PoolMetrics } from '../infra/wasm/pool-metrics.ts';

const LANES = ['short', 'long'] as const;
const ENDINGS = ['done', 'cancelled', 'late', 'failed', 'refused'] as const;

export function computeCheck(metrics: () => PoolMetrics): ReadinessCheck {
  return {
    name: 'compute',
    essential: false,
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
    {
      name: 'atrium_compute_threads',
      help: 'Threads for compute and embeddings.',
      type: 'gauge',
      values: () => [{ value: metrics().threads.open }],
    },
    {
      name: 'atrium_compute_threads_replaced_total',
      help: 'Threads that ended by themselves.',
      type: 'counter',
      values: () => [{ value: metrics().threads.replaced }],
    },
    {
      name: 'atrium_compute_waiting',
      help: 'Work that waits for a thread.',
      type: 'gauge',
      values: byLane('waiting'),
    },
    {
      name: 'atrium_compute_running',
      help: 'Work that has begun.',
      type: 'gauge',
      values: byLane('running'),
    },
    {
      name: 'atrium_compute_work_total',
      help: 'Work by its kind and how it ended.',
      type: 'counter',
      values: () =>
        [...metrics().kinds].flatMap(([kind, each]) =>
          ENDINGS.map((ending) => ({ labels: { kind, ending }, value: each[ending] })),
        ),
    },
    {
      name: 'atrium_compute_wait_seconds_total',
      help: 'Time from arrival to the first thread.',
      type: 'counter',
      values: secondsByKind('waitMs'),
    },
    {
      name: 'atrium_compute_run_seconds_total',
      help: 'Time on threads, of work that was done there.',
      type: 'counter',
      values: secondsByKind('runMs'),
    },
  ];
}
