// A pool of threads that run kernels, with one bounded queue. Each thread does one piece of work at a time. (Packages such as piscina
// stop running work by terminating its thread, which does not end WASM under Bun; a flag that the kernel reads does.)

import { unavailable } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { createThread, ThreadEnded, ThreadOverdue } from '../../core/thread.ts';
import type { KernelCalls, KernelSettings } from './worker.ts';

const OPEN_MS_MAX = 10_000;
/** How long a thread may take to leave cancelled work; then it is replaced. */
const OBEY_MS = 5000;

export type Work = {
  /** The handler that does it. */
  kind: string;
  input: unknown;
  /** Owners take turns, each with its cheapest work first; work without an owner comes before. */
  owner?: string;
  cost?: number;
  /** The subject of its refusals. */
  name: string;
  /** The longest wait and run together. */
  timeoutMs: number;
  signal: AbortSignal;
};

type Ending = 'done' | 'cancelled' | 'late' | 'failed' | 'refused';

type Task = Required<Work> & {
  answer: PromiseWithResolvers<{ output: unknown; ms: number }>;
  timer: ReturnType<typeof setTimeout> | undefined;
  isSettled: boolean;
  isRetry: boolean;
  leave(): void;
};

const NOBODY = 'nobody';

const ending = () => unavailable('The service is shutting down');

/** `entry`: the file that calls `serveKernels`. */
export function createPool(options: {
  name: string;
  entry: URL;
  threads: number;
  niceness: number;
  waitingMax: number;
  log: Logger;
}) {
  const { name, entry, niceness, log } = options;
  /** Pending work by owner. The first owner is next, and goes to the end then. */
  const queue = new Map<string, Set<Task>>();
  const counts = new Map<string, Record<Ending, number>>();
  let slots: readonly ReturnType<typeof createSlot>[] = [];
  let isEnding = false;

  function createSlot(module: WebAssembly.Module) {
    const cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const thread = createThread<KernelCalls>({
      entry,
      settings: { module, cancelled, niceness } satisfies KernelSettings,
      openMsMax: OPEN_MS_MAX,
      onEnd: (reason) => log.error({ job: name, reason }, 'a thread has ended; the next work starts another'),
    });
    return { thread, cancelled, task: undefined as Task | undefined };
  }

  const waiting = (): number => queue.values().reduce((sum, { size }) => sum + size, 0);

  const add = (task: Task): void => void queue.getOrInsertComputed(task.owner, () => new Set()).add(task);

  function remove(task: Task): void {
    const tasks = queue.get(task.owner);
    tasks?.delete(task);
    if (tasks?.size === 0) queue.delete(task.owner);
  }

  function takeNext(): Task | undefined {
    const [owner = NOBODY] = queue.has(NOBODY) ? [] : queue.keys();
    const tasks = queue.get(owner);
    if (tasks === undefined) return undefined;
    const cheapest = [...tasks].reduce((one, other) => (other.cost < one.cost ? other : one));
    queue.delete(owner);
    queue.set(owner, tasks);
    remove(cheapest);
    return cheapest;
  }

  /** Refuses the most expensive work of the owner with the longest queue. */
  function refuseOne(): void {
    const longest = [...queue.values()].reduce((one, other) => (other.size > one.size ? other : one));
    const task = [...longest].reduce((one, other) => (other.cost >= one.cost ? other : one));
    settle(task, 'refused', unavailable(`${task.name}: too much is waiting already`));
  }

  function dispatch(): void {
    for (const slot of slots) {
      if (slot.task !== undefined) continue;
      slot.task = takeNext();
      if (slot.task === undefined) return;
      void run(slot, slot.task);
    }
  }

  async function run(slot: (typeof slots)[number], task: Task): Promise<void> {
    const { kind, input, timeoutMs } = task;
    Atomics.store(slot.cancelled, 0, 0);
    try {
      settle(task, 'done', await slot.thread.ask('run', { kind, input }, timeoutMs + 2 * OBEY_MS));
    } catch (error) {
      if (!(error instanceof ThreadEnded || error instanceof ThreadOverdue)) settle(task, 'failed', error);
      else if (task.isRetry)
        settle(task, 'failed', unavailable(`${task.name}: the thread that ran it has died`));
      else if (!task.isSettled) {
        task.isRetry = true;
        add(task);
      }
    }
    slot.task = undefined;
    dispatch();
  }

  function settle(task: Task, outcome: Ending, value: unknown): void {
    if (task.isSettled) return;
    task.isSettled = true;
    remove(task);
    clearTimeout(task.timer);
    task.signal.removeEventListener('abort', task.leave);
    const { kind, answer } = task;
    counts.getOrInsertComputed(kind, () => ({ done: 0, cancelled: 0, late: 0, failed: 0, refused: 0 }))[
      outcome
    ] += 1;
    if (outcome === 'done') answer.resolve(value as { output: unknown; ms: number });
    else answer.reject(value);
    const slot = slots.find((each) => each.task === task);
    if (slot === undefined || outcome === 'done' || outcome === 'failed') return;
    Atomics.store(slot.cancelled, 0, 1);
    setTimeout(() => {
      if (slot.task === task) slot.thread.replace();
    }, OBEY_MS).unref();
  }

  return {
    /** Makes the threads, and opens so many of them; work opens the others. Rejects if one does not open. */
    async start(module: WebAssembly.Module, openedAtStart: number): Promise<void> {
      slots = Array.from({ length: options.threads }, () => createSlot(module));
      await Promise.all(slots.slice(0, openedAtStart).map(({ thread }) => thread.open()));
    },
    /**
     * Does some work. Rejects with the signal's reason when it aborts; with 503 if too much is waiting, if it takes too long, if two
     * threads die of it, and when the service ends; and with the handler's error.
     */
    async run(work: Work): Promise<{ output: unknown; ms: number }> {
      work.signal.throwIfAborted();
      if (isEnding) throw ending();
      const late = () => settle(task, 'late', unavailable(`${work.name}: it did not end in time`));
      const task: Task = {
        owner: NOBODY,
        cost: 0,
        ...work,
        answer: Promise.withResolvers(),
        timer: setTimeout(late, work.timeoutMs),
        isSettled: false,
        isRetry: false,
        leave: () => settle(task, 'cancelled', work.signal.reason),
      };
      work.signal.addEventListener('abort', task.leave);
      add(task);
      dispatch();
      if (waiting() > options.waitingMax) refuseOne();
      return task.answer.promise;
    },
    /** Refuses everything that runs or waits, and everything later. */
    interrupt(): void {
      isEnding = true;
      const tasks = [
        ...queue.values().flatMap((each) => [...each]),
        ...slots.flatMap(({ task }) => task ?? []),
      ];
      for (const task of tasks) settle(task, 'cancelled', ending());
    },
    end(): void {
      for (const { thread } of slots) thread.end();
    },
    metrics: () => ({
      threads: slots.filter(({ thread }) => thread.isOpen()).length,
      waiting: waiting(),
      /** Includes threads whose cancelled work has not stopped yet, because nothing else can begin there. */
      running: slots.filter(({ task }) => task !== undefined).length,
      counts,
    }),
  };
}
