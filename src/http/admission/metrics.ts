import { counter, gauge, type Metric } from '../metrics.ts';
import type { Admission } from './admission.ts';

export function admissionMetrics({ state, refusals, memory }: Admission): Metric[] {
  const byWork = (name: 'running' | 'waiting' | 'waits' | 'waitedSeconds') => () =>
    state().map((each) => ({ labels: { work: each.work }, value: each[name] }));
  return [
    gauge('atrium_admission_running', 'Requests that are running, by class of work.', byWork('running')),
    gauge('atrium_admission_waiting', 'Requests that wait to begin.', byWork('waiting')),
    counter('atrium_admission_waits_total', 'Requests that have waited before they began.', byWork('waits')),
    counter('atrium_admission_wait_seconds_total', 'Time that they have waited.', byWork('waitedSeconds')),
    counter('atrium_admission_refused_total', 'Requests refused for overload, by class and reason.', () =>
      refusals.counts().map(({ work, reason, count }) => ({ labels: { work, reason }, value: count })),
    ),
    ...(memory === undefined
      ? []
      : [gauge('atrium_memory_ceiling_bytes', 'MEMORY_MAX.', () => memory.bytesMax, 'each')]),
  ];
}
