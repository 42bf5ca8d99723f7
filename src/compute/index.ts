// Compute (area D): the CPU-bound probe, and the built-in embedding model, on threads of their own.

import { join } from 'node:path';
import type { EmbedTexts } from '../core/embed-texts.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { ReadinessCheck } from '../http/health.ts';
import type { Metric } from '../http/metrics.ts';
import type { Route } from '../http/operation.ts';
import { loadModule } from '../infra/wasm/module.ts';
import { createPool } from '../infra/wasm/pool.ts';
import { computeCheck, computeMetrics } from './health.ts';
import { createEmbed } from './operations/embed.ts';
import { createFibonacci } from './operations/fibonacci.ts';
import { computeRoutes } from './routes.ts';

/** Compiled from assembly/ by the start and test commands. */
const KERNELS = join(import.meta.dir, '../../build/kernels.wasm');

export type ComputeDeps = {
  settings: { threads: number; queueMax: number };
  log: Logger;
};

export function createCompute({ settings, log }: ComputeDeps): {
  routes: Route[];
  embed: EmbedTexts;
  /** Cancels what runs and waits; it is answered 503. For the end of a shutdown's time. */
  interrupt(): void;
  jobs: Job[];
  checks: ReadinessCheck[];
  metrics: Metric[];
} {
  const pool = createPool({
    name: 'compute.threads',
    entry: new URL('./thread.ts', import.meta.url),
    loadModule: () => loadModule(KERNELS),
    threads: settings.threads,
    waitingMax: settings.queueMax,
    log,
  });
  return {
    routes: computeRoutes({ fibonacci: createFibonacci({ pool }) }),
    embed: createEmbed({ pool }),
    interrupt: pool.interrupt,
    jobs: [pool.job],
    checks: [computeCheck(pool.metrics)],
    metrics: computeMetrics(pool.metrics),
  };
}
