// One lane of a pool: a bounded queue of work, and threads each of which does one part at a time.

import type { Logger } from '../../core/logger.ts';
import { createThread, type Thread, ThreadEnded, ThreadOverdue } from '../../core/thread.ts';
import { createFairLine } from './fair-line.ts';
import type { KindMetrics } from './pool-metrics.ts';
import { createTask, type Ending, type PartResult, refusals, type Task, type Work } from './work.ts';
import type { KernelCalls, KernelSettings } from './worker.ts';

const OPEN_MS_MAX = 10_000;
const REOPEN_PAUSE_MS = 500;
/** Threads that died under some work, after which it is not tried again: it may be the cause. */
const DEATHS_MAX = 2;
/** For a thread to leave a cancelled part; then the thread is replaced. */
const OBEY_MS = 5000;

export type LaneOptions = {
  name: string;
  /** The file that calls `serveKernels`. */
  entry: URL;
  threads: number;
  niceness: number;
  waitingMax: number;
  log: Logger;
  metricsOf(kind: string): KindMetrics;
};

/** A thread, and the task of which it has a part. */
type Seat = {
  thread: Thread<KernelCalls, undefined>;
  cancelled: Int32Array;
  isOpen: boolean;
  task: Task | undefined;
};

export function createLane({ name, entry, threads, niceness, waitingMax, log, metricsOf }: LaneOptions) {
  const line = createFairLine();
  let seats: readonly Seat[] = [];
  /** The threads that are opened with the first work. */
  let unopened: readonly Seat[] = [];
  let replaced = 0;
  let ended = false;

  function createSeat(module: WebAssembly.Module): Seat {
    const cancelled = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const thread = createThread<KernelCalls, undefined>({
      entry,
      settings: { module, cancelled, niceness } satisfies KernelSettings,
      openMsMax: OPEN_MS_MAX,
      onError: (reason) => log.error({ job: name, reason }, 'a thread failed'),
      onEnd() {
        log.error({ job: name }, 'a thread has ended by itself; it is replaced');
        replaced++;
        seat.isOpen = false;
        void reopen(seat);
      },
    });
    const seat: Seat = { thread, cancelled: new Int32Array(cancelled), isOpen: false, task: undefined };
    return seat;
  }

  async function open(seat: Seat): Promise<void> {
    await seat.thread.open();
    seat.isOpen = true;
    dispatch();
  }

  async function reopen(seat: Seat): Promise<void> {
    while (!ended) {
      try {
        return await open(seat);
      } catch (error) {
        if (ended) return;
        log.error({ job: name, err: error }, 'a thread could not be replaced; it is tried again');
        seat.thread.replace();
        await Bun.sleep(REOPEN_PAUSE_MS);
      }
    }
  }

  function dispatch(): void {
    for (const seat of seats) {
      if (!seat.isOpen || seat.task !== undefined) continue;
      const task = line.shift();
      if (task === undefined) return;
      const index = task.pending.shift() as number;
      // Behind the others: work of many parts does not hold up work of few.
      if (task.pending.length > 0) line.push(task);
      begin(task);
      void runPart(seat, task, index);
    }
  }

  function begin(task: Task): void {
    if (task.begun) return;
    task.begun = true;
    metricsOf(task.work.kind).waitMs += performance.now() - task.arrivedAt;
    limit(task, task.work.runMsMax);
  }

  async function runPart(seat: Seat, task: Task, index: number): Promise<void> {
    const { kind, parts, runMsMax } = task.work;
    seat.task = task;
    Atomics.store(seat.cancelled, 0, 0);
    try {
      const part = { kind, input: parts[index] };
      const result = await seat.thread.ask('run', part, runMsMax + 2 * OBEY_MS);
      metricsOf(kind).runMs += result.ms;
      task.results[index] = result;
      seat.task = undefined;
      if (--task.left === 0) settle(task, 'done');
    } catch (error) {
      seat.task = undefined;
      // An overdue thread may still run the part, which the next one would free of its cancellation.
      if (error instanceof ThreadOverdue) seat.thread.replace();
      else if (!(error instanceof ThreadEnded)) settle(task, 'failed', error);
      if (++task.deaths >= DEATHS_MAX) settle(task, 'failed', refusals.died(task.work));
      else retry(task, index);
    }
    dispatch();
  }

  function retry(task: Task, index: number): void {
    if (task.settled) return;
    task.pending.push(index);
    if (!line.includes(task)) line.unshift(task);
  }

  function settle(task: Task, ending: Ending, reason?: unknown): void {
    if (task.settled) return;
    task.settled = true;
    task.forget();
    clearTimeout(task.timer);
    metricsOf(task.work.kind)[ending]++;
    if (ending === 'done') {
      task.answer.resolve(task.results as PartResult[]);
      return;
    }
    line.remove(task);
    for (const seat of seats) if (seat.task === task) cancel(seat, task);
    task.answer.reject(reason);
  }

  function cancel(seat: Seat, task: Task): void {
    Atomics.store(seat.cancelled, 0, 1);
    setTimeout(() => {
      if (seat.task === task) seat.thread.replace();
    }, OBEY_MS).unref();
  }

  function limit(task: Task, timeoutMs: number): void {
    clearTimeout(task.timer);
    task.timer = setTimeout(() => settle(task, 'late', refusals.late(task.work)), timeoutMs);
  }

  const running = (): Task[] => seats.map(({ task }) => task).filter((task) => task !== undefined);

  function openForWork(): void {
    const opening = unopened;
    unopened = [];
    for (const seat of opening) void reopen(seat);
  }

  return {
    /** Opens so many threads, and the others with the first work; rejects when one does not open. */
    async start(module: WebAssembly.Module, openedAtStart: number): Promise<void> {
      seats = Array.from({ length: threads }, () => createSeat(module));
      unopened = seats.slice(openedAtStart);
      await Promise.all(seats.slice(0, openedAtStart).map(open));
    },
    run(work: Work): Promise<PartResult[]> {
      const { signal, waitMsMax } = work;
      openForWork();
      const task = createTask(work);
      const leave = (): void => settle(task, 'cancelled', signal.reason);
      signal.addEventListener('abort', leave);
      task.forget = () => signal.removeEventListener('abort', leave);
      limit(task, waitMsMax);
      line.push(task);
      // Work that an opening thread will take at once does not count as waiting.
      const last =
        line.size() > waitingMax + seats.filter(({ isOpen }) => !isOpen).length ? line.last() : undefined;
      if (last !== undefined) settle(last, 'refused', refusals.full(last.work));
      dispatch();
      return task.answer.promise;
    },
    interrupt(): void {
      for (const task of [...line.all(), ...running()]) settle(task, 'cancelled', refusals.ending());
    },
    end(): void {
      ended = true;
      for (const { thread } of seats) thread.end();
    },
    metrics: () => ({
      open: seats.filter(({ isOpen }) => isOpen).length,
      wanted: seats.length - unopened.length,
      replaced,
      waiting: line.size(),
      /** Includes threads whose cancelled part has not stopped yet, because nothing else can begin there. */
      running: running().length,
    }),
  };
}
