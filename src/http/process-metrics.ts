import { bodyMemory } from './body-memory.ts';
import type { Metric } from './metrics.ts';

/** What Prometheus' own clients tell of every process, and how many requests are being answered. */
export function processMetrics(running: () => number): Metric[] {
  const startedAtSeconds = Date.now() / 1000 - process.uptime();
  const one = (value: number) => [{ value }];
  return [
    {
      name: 'atrium_requests_running',
      help: 'Requests being answered now.',
      type: 'gauge',
      values: () => one(running()),
    },
    {
      name: 'atrium_request_bodies_bytes',
      help: 'Memory that the bodies of running requests take.',
      type: 'gauge',
      values: () => one(bodyMemory.heldBytes()),
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time used, user and system.',
      type: 'counter',
      values: () => one((process.cpuUsage().user + process.cpuUsage().system) / 1_000_000),
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory.',
      type: 'gauge',
      values: () => one(process.memoryUsage.rss()),
    },
    {
      name: 'process_start_time_seconds',
      help: 'When the process started, in seconds since 1970.',
      type: 'gauge',
      values: () => one(startedAtSeconds),
    },
  ];
}
