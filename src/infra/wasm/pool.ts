// Work for kernels on threads: two lanes, one bounded queue each, ended by its caller, its time or the service's end.

import type { Job } from '../../core/lifecycle.ts';
import { createLane, type LaneOptions } from './lane.ts';
import type { KindMetrics, PoolMetrics } from './pool-metrics.ts';
import { type Lane, type PartResult, refusals, type Work } from './work.ts';
import type { Handler } from './worker.ts';

/**
 * Below the thread that answers requests (0), and short work above long work: where they compete, the system gives each
 * step of five about three times the time of the next.
 */
const NICENESS: Record<Lane, number> = { short: 10, long: 15 };

export type { PartResult } from './work.ts';

export type Pool = {
  /**
   * Does all parts of some work; the results are in their order. Rejects with the signal's reason when it aborts; with
   * 503 when too many wait in its lane already, when it takes too long, when its threads die, and when the service ends;
   * with the handler's error.
   */
  run(work: Work): Promise<PartResult[]>;
  /**
   * Does some work at once, on the thread that calls: for what takes less time than a thread takes to be asked. Throws 503 when the
   * service ends; the handler's error.
   */
  runHere(work: Pick<Work, 'kind'> & { handler: Handler; input: unknown }): unknown;
  /** Refuses everything that runs and waits, and everything later. */
  interrupt(): void;
  job: Job;
  metrics(): PoolMetrics;
};

/** `threads` and `waitingMax` are of each lane. */
export type PoolOptions = Omit<LaneOptions, 'niceness' | 'metricsOf'> & {
  loadModule(): Promise<WebAssembly.Module>;
};

export function createPool(options: PoolOptions): Pool {
  const kinds = new Map<string, KindMetrics>();
  const metricsOf = (kind: string): KindMetrics =>
    kinds.getOrInsertComputed(kind, () => ({
      done: 0,
      cancelled: 0,
      late: 0,
      failed: 0,
      refused: 0,
      waitMs: 0,
      runMs: 0,
    }));
  const create = (lane: Lane) => createLane({ ...options, niceness: NICENESS[lane], metricsOf });
  const lanes = { short: create('short'), long: create('long') };
  const all = Object.values(lanes);
  let interrupted = false;
  let module: WebAssembly.Module | undefined;
  let kernels: WebAssembly.Exports | undefined;

  function interrupt(): void {
    interrupted = true;
    for (const lane of all) lane.interrupt();
  }
  function end(): void {
    for (const lane of all) lane.end();
  }

  return {
    async run(work) {
      work.signal.throwIfAborted();
      if (interrupted) throw refusals.ending();
      return lanes[work.lane].run(work);
    },
    runHere({ kind, handler, input }) {
      if (interrupted || module === undefined) throw refusals.ending();
      kernels ??= new WebAssembly.Instance(module, { host: { checkpoint: () => undefined } }).exports;
      const startedAt = performance.now();
      const { output } = handler(kernels, input);
      const metrics = metricsOf(kind);
      metrics.done++;
      metrics.runMs += performance.now() - startedAt;
      return output;
    },
    interrupt,
    job: {
      name: options.name,
      async start() {
        module = await options.loadModule();
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
    metrics() {
      const [short, long] = [lanes.short.metrics(), lanes.long.metrics()];
      return {
        threads: {
          open: short.open + long.open,
          wanted: short.wanted + long.wanted,
          replaced: short.replaced + long.replaced,
        },
        lanes: {
          short: { waiting: short.waiting, running: short.running },
          long: { waiting: long.waiting, running: long.running },
        },
        kinds,
      };
    },
  };
}
