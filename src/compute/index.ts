// Compute (area D): the CPU-bound probe, and the built-in embedding model, on worker threads.

import { join } from 'node:path';
import type { EmbedTexts } from '../core/embed-texts.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes } from '../http/area.ts';
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
  /** Work that runs or waits then is cancelled, and answered 503. */
  onInterrupt: OnInterrupt;
  log: Logger;
};

export function createCompute({
  settings,
  onInterrupt,
  log,
}: ComputeDeps): AreaWithRoutes & { embed: EmbedTexts } {
  const pool = createPool({
    name: 'compute.threads',
    entry: new URL('./thread.ts', import.meta.url),
    loadModule: () => loadModule(KERNELS),
    threads: settings.threads,
    waitingMax: settings.queueMax,
    log,
  });
  onInterrupt(pool.interrupt);
  return {
    routes: (http) => computeRoutes(http, { fibonacci: createFibonacci({ pool }) }),
    embed: createEmbed({ pool }),
    jobs: [pool.job],
    checks: [computeCheck(pool.metrics)],
    metrics: computeMetrics(pool.metrics),
  };
}
