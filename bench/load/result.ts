// What a run has measured, in the form in which it is written.

import { availableParallelism, totalmem } from 'node:os';
import { type K6Result, loadOf } from '../lib/k6.ts';
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
  const { metrics, root_group, broken } = measured.k6;
  const { count, requestsPerSecond, p50Ms, p95Ms, p99Ms, counters } = loadOf(metrics);
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
