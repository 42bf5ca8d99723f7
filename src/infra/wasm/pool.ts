// A pool of threads that run kernels. Each thread does one piece of work at a time. (Packages such as piscina stop running work by
// terminating its thread, which does not end WASM under Bun; a flag that the kernel reads does.)

import { ServiceError, unavailable } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { createSemaphore, shareAmongOwners } from '../../core/semaphore.ts';
import { createThread, ThreadEnded } from '../../core/thread.ts';
import { abortable } from '../../core/wait.ts';
import type { KernelCalls, KernelSettings } from './worker.ts';

const OPEN_MS_MAX = 10_000;
/** How long a thread may take to leave cancelled work; then it is replaced. */
const OBEY_MS = 5000;

export type Work = {
  /** The handler that does it. */
  kind: string;
  input: unknown;
  /** Owners take turns, each in its order of arrival. */
  owner: string;
  /** The subject of its refusals. */
  name: string;
  /** The longest wait and run together. */
  timeoutMs: number;
  signal: AbortSignal;
};

type Result = { output: unknown; ms: number };

/** `entry`: the file that calls `serveKernels`. An owner may have `waitingMax` pieces of work in the queue. */
export function createPool(options: {
  name: string;
  entry: URL;
  threads: number;
  niceness: number;
  waitingMax: number;
  log: Logger;
}) {
  const { name, entry, threads, niceness, waitingMax, log } = options;
  const bounds = { runningMax: threads, waitingMax, refuse: 'Too much is waiting for a thread already' };
  const inTurn = shareAmongOwners(createSemaphore(bounds), bounds);
  const counts = new Map<string, Record<'done' | 'cancelled' | 'late' | 'failed' | 'refused', number>>();
  /** Of all work that has not been answered. */
  const stops = new Set<AbortController>();
  let slots: readonly ReturnType<typeof createSlot>[] = [];
  let running = 0;
  let waiting = 0;
  let isEnding = false;

  function createSlot(module: WebAssembly.Module) {
    const cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const thread = createThread<KernelCalls>({
      entry,
      settings: { module, cancelled, niceness } satisfies KernelSettings,
      openMsMax: OPEN_MS_MAX,
      onEnd: (reason) => log.error({ job: name, reason }, 'a thread has ended; the next work starts another'),
    });
    return { thread, cancelled, isFree: true };
  }

  /** Runs work on a free thread, and once more if that dies. Resolves when the thread is free again, also after the signal. */
  async function runOnThread(work: Work, signal: AbortSignal): Promise<Result> {
    const { kind, input, timeoutMs } = work;
    const slot = slots.find(({ isFree }) => isFree);
    if (slot === undefined) throw new Error('there is no free thread');
    let obeying: ReturnType<typeof setTimeout> | undefined;
    const cancel = (): void => {
      Atomics.store(slot.cancelled, 0, 1);
      obeying = setTimeout(slot.thread.replace, OBEY_MS);
    };
    slot.isFree = false;
    running += 1;
    Atomics.store(slot.cancelled, 0, 0);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await slot.thread.ask('run', { kind, input }, timeoutMs + 2 * OBEY_MS);
        } catch (error) {
          if (!(error instanceof ThreadEnded)) throw error;
          if (attempt === 2 || signal.aborted)
            throw unavailable(`${work.name}: the thread that ran it has died`);
        }
      }
    } finally {
      clearTimeout(obeying);
      signal.removeEventListener('abort', cancel);
      running -= 1;
      slot.isFree = true;
    }
  }

  const ending = () => unavailable('The service is shutting down');

  return {
    /** Makes the threads, and opens so many of them; work opens the others. Rejects if one does not open. */
    async start(module: WebAssembly.Module, openedAtStart: number): Promise<void> {
      slots = Array.from({ length: threads }, () => createSlot(module));
      await Promise.all(slots.slice(0, openedAtStart).map(({ thread }) => thread.open()));
    },
    /**
     * Does some work. Rejects with the signal's reason when it aborts; with 503 if too much is waiting, if it takes too long, if two
     * threads die of it, and when the service ends; and with the handler's error.
     */
    async run(work: Work): Promise<Result> {
      work.signal.throwIfAborted();
      if (isEnding) throw ending();
      const count = counts.getOrInsertComputed(work.kind, () => ({
        done: 0,
        cancelled: 0,
        late: 0,
        failed: 0,
        refused: 0,
      }));
      const stop = new AbortController();
      const leave = (): void => stop.abort(work.signal.reason);
      const late = unavailable(`${work.name}: it did not end in time`);
      const timer = setTimeout(() => stop.abort(late), work.timeoutMs);
      let isWaiting = true;
      const endWait = (): void => {
        if (isWaiting) waiting -= 1;
        isWaiting = false;
      };
      waiting += 1;
      stops.add(stop);
      work.signal.addEventListener('abort', leave, { once: true });
      try {
        const running = inTurn(
          work.owner,
          () => {
            endWait();
            return runOnThread(work, stop.signal);
          },
          stop.signal,
        );
        const result = await abortable(running, stop.signal);
        count.done += 1;
        return result;
      } catch (error) {
        if (stop.signal.aborted) count[error === late ? 'late' : 'cancelled'] += 1;
        else count[error instanceof ServiceError && isWaiting ? 'refused' : 'failed'] += 1;
        throw error;
      } finally {
        clearTimeout(timer);
        work.signal.removeEventListener('abort', leave);
        stops.delete(stop);
        endWait();
      }
    },
    /** Refuses everything that runs or waits, and everything later. */
    interrupt(): void {
      isEnding = true;
      for (const stop of stops) stop.abort(ending());
    },
    end(): void {
      for (const { thread } of slots) thread.end();
    },
    metrics: () => ({
      threads: slots.filter(({ thread }) => thread.isOpen()).length,
      waiting,
      /** Includes cancelled work that has not stopped yet. */
      running,
      counts,
    }),
  };
}
