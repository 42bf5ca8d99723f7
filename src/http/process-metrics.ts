import { tracingFigures } from '../core/tracing.ts';
import { bodyMemory } from './body.ts';
import { counter, gauge, type Metric } from './metrics.ts';

/** The metrics that Prometheus' own clients have for every process, those of the requests in progress, and what becomes of spans. */
export function processMetrics(running: () => number, version: string): Metric[] {
  const startedAtSeconds = Date.now() / 1000 - process.uptime();
  return [
    gauge(
      'atrium_build_info',
      'Always 1, with the versions of the service and its runtime.',
      () => [{ labels: { version, bun: Bun.version }, value: 1 }],
      'largest',
    ),
    gauge('atrium_requests_running', 'Requests being answered now.', running),
    gauge(
      'atrium_request_bodies_bytes',
      'Memory that the bodies of running requests take.',
      () => bodyMemory.heldBytes,
    ),
    counter(
      'process_cpu_seconds_total',
      'Processor time used, user and system.',
      () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1_000_000;
      },
      'each',
    ),
    gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss(), 'each'),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => startedAtSeconds,
      'each',
    ),
    counter(
      'atrium_trace_spans_total',
      'Spans by what became of them: dropped ones found the queue full; zeros without tracing.',
      () =>
        (['exported', 'failed', 'dropped'] as const).map((outcome) => ({
          labels: { outcome },
          value: tracingFigures()[outcome],
        })),
    ),
    gauge('atrium_trace_spans_waiting', 'Spans that wait for the collector.', () => tracingFigures().waiting),
  ];
}
