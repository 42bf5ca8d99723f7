// Compute (area D): the CPU-bound probe, and the built-in embedding model, on worker threads.

import { join } from 'node:path';
import type { EmbedTexts } from '../core/embed-texts.ts';
import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import { counter, gauge } from '../http/metrics.ts';
import { createPool } from '../infra/wasm/pool.ts';
import { loadModule } from '../infra/wasm/worker.ts';
import { LONG_NICENESS, SHORT_NICENESS } from './limits.ts';
import { createEmbed } from './operations/embed.ts';
import { createFibonacci } from './operations/fibonacci.ts';
import { computeRoutes } from './routes.ts';

/** Compiled from assembly/ by the start and test commands. */
const KERNELS = join(import.meta.dir, '../../build/kernels.wasm');

const JOB = 'compute.threads';

export type ComputeDeps = {
  settings: { threads: number; queueMax: number };
  /** Work that runs or waits then is cancelled, and answered 503. */
  shutdown: AbortSignal;
  log: Logger;
};

export function createCompute({ settings, shutdown, log }: ComputeDeps) {
  const create = (niceness: number) =>
    createPool({
      name: JOB,
      entry: new URL('./thread.ts', import.meta.url),
      threads: settings.threads,
      niceness,
      waitingMax: settings.queueMax,
      log,
    });
  // Short work takes milliseconds, and never waits for long work.
  const lanes = { short: create(SHORT_NICENESS), long: create(LONG_NICENESS) };
  const pools = Object.values(lanes);
  const embed = createEmbed(lanes.short, settings.threads);
  const interrupt = (): void => {
    for (const pool of pools) pool.interrupt();
  };
  shutdown.addEventListener('abort', interrupt, { once: true });
  const end = (): void => {
    for (const pool of pools) pool.end();
  };
  const sum = (figure: 'threads' | 'running' | 'waiting') =>
    pools.reduce((total, pool) => total + pool.metrics()[figure], 0);
  const byLane = (figure: 'running' | 'waiting') => () =>
    Object.entries(lanes).map(([lane, pool]) => ({ labels: { lane }, value: pool.metrics()[figure] }));
  return {
    routes: (http) => computeRoutes(http, createFibonacci(lanes)),
    embed: embed.embed,
    jobs: [
      {
        name: JOB,
        async start() {
          const module = await loadModule(KERNELS);
          embed.load(module);
          try {
            // One shows that the kernels work. The others cost memory and a part of the start, and many services never need them.
            await Promise.all([lanes.short.start(module, 1), lanes.long.start(module, 0)]);
          } catch (error) {
            end();
            throw new Error('A thread for WASM kernels cannot be started', { cause: error });
          }
        },
        async stop() {
          interrupt();
          end();
        },
      },
    ],
    checks: [
      {
        name: 'compute',
        essential: false,
        across: { threads: 'sum', running: 'sum', waiting: 'sum' },
        check: async () => ({
          state: 'ready',
          threads: sum('threads'),
          running: sum('running'),
          waiting: sum('waiting'),
        }),
      },
    ],
    metrics: [
      gauge('atrium_compute_threads', 'Threads for compute and embeddings.', () => sum('threads')),
      gauge('atrium_compute_waiting', 'Work that waits for a thread.', byLane('waiting')),
      gauge('atrium_compute_running', 'Work that has begun.', byLane('running')),
      counter('atrium_compute_work_total', 'Work of threads by its kind and how it ended.', () =>
        Object.entries(lanes).flatMap(([lane, pool]) =>
          [...pool.metrics().counts].flatMap(([kind, endings]) =>
            Object.entries(endings).map(([ending, value]) => ({ labels: { lane, kind, ending }, value })),
          ),
        ),
      ),
    ],
  } satisfies AreaWithRoutes & { embed: EmbedTexts };
}
