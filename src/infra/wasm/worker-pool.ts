// The threads of a pool: as many as are wanted, each replaced when it dies.

import type { Logger } from '../../core/logger.ts';
import type { Report } from './messages.ts';
import { openThread, type Thread } from './thread.ts';

const REOPEN_PAUSE_MS = 500;

export type WorkerPoolOptions = {
  /** For the log. */
  name: string;
  entry: URL;
  loadModule(): Promise<WebAssembly.Module>;
  threads: number;
  log: Logger;
};

/** A thread and the parts that it has. */
export type PoolWorker<Part> = { thread: Thread; parts: Map<number, Part>; long: number };

export type WorkerPool<Part> = {
  readonly all: ReadonlySet<PoolWorker<Part>>;
  readonly replaced: number;
  /** Opens all threads; rejects when one does not open. */
  start(): Promise<void>;
  /** Ends one that does not obey; `onDeath` is called for it, too. */
  dismiss(worker: PoolWorker<Part>): void;
  end(): void;
};

export function createWorkerPool<Part>(
  { name, entry, loadModule, threads, log }: WorkerPoolOptions,
  events: {
    onReport(worker: PoolWorker<Part>, report: Exclude<Report, { type: 'open' }>): void;
    onDeath(worker: PoolWorker<Part>): void;
    onOpen(): void;
  },
): WorkerPool<Part> {
  const all = new Set<PoolWorker<Part>>();
  let module: WebAssembly.Module | undefined;
  let replaced = 0;
  let ended = false;

  const open = async (): Promise<void> => {
    module ??= await loadModule();
    const parts = new Map<number, Part>();
    const thread = await openThread({
      entry,
      module,
      onReport: (report) => events.onReport(worker, report),
      onDeath: () => lose(worker),
    });
    const worker: PoolWorker<Part> = { thread, parts, long: 0 };
    if (ended) return thread.end();
    all.add(worker);
    events.onOpen();
  };
  const lose = (worker: PoolWorker<Part>): void => {
    if (!all.delete(worker)) return;
    log.error({ job: name }, 'a thread has ended by itself; it is replaced');
    replaced++;
    void reopen();
    events.onDeath(worker);
  };
  const reopen = async (): Promise<void> => {
    while (!ended) {
      try {
        return await open();
      } catch (error) {
        log.error({ job: name, err: error }, 'a thread could not be replaced; it is tried again');
        await Bun.sleep(REOPEN_PAUSE_MS);
      }
    }
  };
  const end = (): void => {
    ended = true;
    for (const { thread } of all) thread.end();
    all.clear();
  };
  return {
    all,
    get replaced() {
      return replaced;
    },
    async start() {
      module = await loadModule();
      try {
        await Promise.all(Array.from({ length: threads }, open));
      } catch (error) {
        end();
        throw new Error('A thread for WASM kernels cannot be started', { cause: error });
      }
    },
    dismiss(worker) {
      worker.thread.end();
      lose(worker);
    },
    end,
  };
}
