// What a run has measured, in the form in which it is written.

import { availableParallelism, totalmem } from 'node:os';
import { type K6Result, loadOf } from '../lib/k6.ts';
import type { Second } from '../lib/k6-record.ts';
import type { MemorySample } from '../lib/memory-samples.ts';
import { SHAPE, type ShapeName, type Weights } from '../lib/shapes.ts';
import { slopeOfSecondHalf } from '../lib/slope.ts';

type Measured = {
  name: ShapeName;
  area: string;
  weights: Weights;
  minutes: number;
  configured: readonly string[];
  startedAt: Date;
  idle: { p50Ms: number; p99Ms: number } | undefined;
  capacity: number | undefined;
  samples: readonly MemorySample[];
  k6: K6Result;
};

export function summarise(measured: Measured) {
  const { name, area, weights, minutes, configured, startedAt, idle, capacity, samples } = measured;
  const { metrics, root_group, broken, seconds } = measured.k6;
  const { count, requestsPerSecond, p50Ms, p95Ms, p99Ms, counters } = loadOf(metrics);
  const areas = Object.keys(weights);
  return {
    shape: name,
    meaning: SHAPE[name].meaning,
    area,
    weights,
    minutes,
    startedAt: startedAt.toISOString(),
    machine: { processors: availableParallelism(), memoryMiB: Math.round(totalmem() / 1024 ** 2) },
    servers: configured.length === 0 ? 'embedded' : configured.join(', '),
    idle,
    capacityPerSecond: capacity,
    broken,
    requests: { count, perSecond: requestsPerSecond, p50Ms, p95Ms, p99Ms },
    p99TimesIdle: idle === undefined ? undefined : p99Ms / idle.p99Ms,
    iterations: {
      done: counters['done'] ?? 0,
      refused: counters['refused'] ?? 0,
      notBegun: counters['dropped_iterations'] ?? 0,
    },
    /** By the names of their requests. */
    checks: root_group.checks
      .map(({ name: request, passes, fails }) => ({ request, passes, fails }))
      .sort((one, other) => (one.request < other.request ? -1 : 1)),
    memory: memoryOf(samples),
    overTime: seconds.map((second) => toPoint(second, startedAt.getTime(), areas)),
  };
}

function memoryOf(samples: readonly MemorySample[]) {
  const points = (value: (sample: MemorySample) => number) =>
    samples.map((sample) => ({ at: sample.at, value: value(sample) }));
  const from = samples[0]?.at ?? 0;
  return {
    /** MiB an hour, over the second half of the run. */
    slopes: {
      service: slopeOfSecondHalf(points(({ service }) => service)),
      children: slopeOfSecondHalf(points(({ children }) => children)),
      together: slopeOfSecondHalf(points(({ service, children }) => service + children)),
    },
    peakMiB: Math.max(...samples.map(({ total }) => total)),
    samples: samples.map(({ at, ...each }) => ({ second: (at - from) / 1000, ...each })),
  };
}

/** A run of half a minute has the same plots as one of an hour. */
function toPoint({ at, values }: Second, from: number, areas: readonly string[]) {
  const value = (metric: string, aggregate: string): number => values[metric]?.[aggregate] ?? 0;
  return {
    second: (at - from) / 1000,
    perSecond: value('http_reqs', 'rate'),
    byArea: Object.fromEntries(areas.map((area) => [area, value(`http_reqs{area:${area}}`, 'rate')])),
    p50Ms: value('http_req_duration', 'med'),
    p95Ms: value('http_req_duration', 'p(95)'),
    p99Ms: value('http_req_duration', 'p(99)'),
    failed: value('http_req_failed', 'rate') * value('http_reqs', 'count'),
    refused: value('refused', 'count'),
    notBegun: value('dropped_iterations', 'count'),
  };
}
