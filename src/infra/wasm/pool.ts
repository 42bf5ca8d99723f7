// Work for kernels on threads: two lanes, one bounded line each, ended by its caller, its time or the service's end.

import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { Report } from './messages.ts';
import { createKindMetrics, type PoolMetrics } from './pool-metrics.ts';
import {
  createTask,
  type Ending,
  type Lane,
  type PartResult,
  refusals,
  type Task,
  type Work,
} from './work.ts';
import { createWorkerPool, type PoolWorker, type WorkerPool } from './worker-pool.ts';

/** Short parts that a thread has at once, so that it need not wait for the next; more would die with it. */
const SHORT_IN_FLIGHT = 4;
/** Threads that died under some work, after which it is not tried again: it may be what kills them. */
const DEATHS_MAX = 2;
/** For a thread to leave what is no longer wanted. */
const OBEY_MS = 5000;

export type { PartResult } from './work.ts';

export type Pool = {
  /**
   * Does all parts of some work. Rejects with the signal's reason when it aborts; with 503 when too many wait in its
   * lane already, when it takes too long, when its threads die, and when the service ends; with the handler's error.
   */
  run(work: Work): Promise<PartResult[]>;
  /** Refuses all that runs and waits, and what comes later. */
  interrupt(): void;
  job: Job;
  metrics(): PoolMetrics;
};

export type PoolOptions = {
  name: string;
  /** The file that calls `serveKernels`. */
  entry: URL;
  loadModule(): Promise<WebAssembly.Module>;
  threads: number;
  /** Of each lane. */
  waitingMax: number;
  log: Logger;
};

type Part = { id: number; task: Task; index: number };

export function createPool(options: PoolOptions): Pool {
  const { name, threads, waitingMax } = options;
  const lines: Record<Lane, Task[]> = { short: [], long: [] };
  const tasks = new Set<Task>();
  const counts = createKindMetrics();
  let ids = 0;
  let interrupted = false;

  const workers: WorkerPool<Part> = createWorkerPool(options, {
    onReport: take,
    onDeath: recover,
    onOpen: dispatch,
  });

  function dispatch(): void {
    for (const lane of ['short', 'long'] as const) {
      for (let task = lines[lane][0]; task !== undefined; task = lines[lane][0]) {
        const worker = freest(workers.all, lane);
        if (worker === undefined) break;
        lines[lane].shift();
        begin(worker, task);
        // Behind the others: work of many parts does not hold up work of few.
        if (task.pending.length > 0) lines[lane].push(task);
      }
    }
  }

  function begin(worker: PoolWorker<Part>, task: Task): void {
    const index = task.pending.shift();
    if (index === undefined) return;
    const { kind, lane, parts, runMsMax } = task.work;
    if (!task.begun) {
      task.begun = true;
      counts.of(kind).waitMs += performance.now() - task.arrivedAt;
      limit(task, runMsMax);
    }
    const id = ++ids;
    worker.parts.set(id, { id, task, index });
    if (lane === 'long') worker.long = id;
    worker.thread.send({ id, kind, input: parts[index], long: lane === 'long' });
  }

  function take(worker: PoolWorker<Part>, report: Exclude<Report, { type: 'open' }>): void {
    const part = worker.parts.get(report.id);
    if (part === undefined) return;
    leave(worker, part);
    const { task, index } = part;
    if (report.type === 'done') {
      counts.of(task.work.kind).runMs += report.ms;
      task.results[index] = { output: report.output, ms: report.ms };
      if (--task.left === 0) settle(task, 'done');
    } else if (report.type === 'failed') settle(task, 'failed', new Error(report.reason));
    dispatch();
  }

  function recover(worker: PoolWorker<Part>): void {
    const suspects = suspectsOf(worker);
    for (const part of [...worker.parts.values()].reverse()) {
      const { task, index } = part;
      if (task.settled) continue;
      if (suspects.has(part)) task.deaths++;
      if (task.deaths >= DEATHS_MAX) {
        settle(task, 'failed', refusals.died(task.work));
        continue;
      }
      task.pending.push(index);
      const line = lines[task.work.lane];
      if (!line.includes(task)) line.unshift(task);
    }
    dispatch();
  }

  function settle(task: Task, ending: Ending, reason?: unknown): void {
    if (task.settled) return;
    task.settled = true;
    task.forget();
    clearTimeout(task.timer);
    tasks.delete(task);
    counts.of(task.work.kind)[ending]++;
    if (task.pending.length > 0) {
      const line = lines[task.work.lane];
      const place = line.indexOf(task);
      if (place !== -1) line.splice(place, 1);
    }
    if (ending === 'done') task.answer.resolve(task.results as PartResult[]);
    else {
      stopParts(task);
      task.answer.reject(reason);
    }
  }

  /** A thread that goes on with abandoned work is given up. */
  function stopParts(task: Task): void {
    for (const worker of workers.all) {
      for (const part of worker.parts.values()) {
        if (part.task !== task) continue;
        if (worker.long === part.id) worker.thread.cancel(part.id);
        setTimeout(() => {
          if (worker.parts.has(part.id) && workers.all.has(worker)) workers.dismiss(worker);
        }, OBEY_MS).unref();
      }
    }
  }

  function limit(task: Task, timeoutMs: number): void {
    clearTimeout(task.timer);
    task.timer = setTimeout(() => settle(task, 'late', refusals.late(task.work)), timeoutMs);
  }

  function interrupt(): void {
    interrupted = true;
    for (const task of tasks) settle(task, 'cancelled', refusals.ending());
  }

  return {
    run(work) {
      const { signal, lane, kind, waitMsMax } = work;
      if (signal.aborted) return Promise.reject(signal.reason);
      if (interrupted) return Promise.reject(refusals.ending());
      if (lines[lane].length >= waitingMax) {
        counts.of(kind).refused++;
        return Promise.reject(refusals.full(work));
      }
      const task = createTask(work);
      const leaveIt = (): void => settle(task, 'cancelled', signal.reason);
      signal.addEventListener('abort', leaveIt);
      task.forget = () => signal.removeEventListener('abort', leaveIt);
      tasks.add(task);
      limit(task, waitMsMax);
      lines[lane].push(task);
      dispatch();
      return task.answer.promise;
    },
    interrupt,
    job: {
      name,
      start: workers.start,
      async stop() {
        interrupt();
        workers.end();
      },
    },
    metrics: () => ({
      threads: { open: workers.all.size, wanted: threads, replaced: workers.replaced },
      lanes: { short: laneMetrics('short'), long: laneMetrics('long') },
      kinds: counts.kinds,
    }),
  };

  function laneMetrics(lane: Lane): { waiting: number; running: number } {
    const running =
      lane === 'long'
        ? // Also a thread that has not left yet what was cancelled: no other long work can begin there.
          [...workers.all].filter(({ long }) => long !== 0).length
        : [...tasks].filter((task) => task.begun && task.work.lane === lane).length;
    return { waiting: lines[lane].length, running };
  }
}

/** What a thread was at: its long part, and the first of its short ones, which it does in their order. */
function suspectsOf({ parts, long }: PoolWorker<Part>): ReadonlySet<Part> {
  const first = [...parts.values()].find(({ id }) => id !== long);
  return new Set([parts.get(long), first].filter((part) => part !== undefined));
}

function leave(worker: PoolWorker<Part>, part: Part): void {
  worker.parts.delete(part.id);
  if (worker.long === part.id) worker.long = 0;
}

/** The thread that begins it soonest: one with the fewest short parts, rather one without a long part. */
function freest(all: ReadonlySet<PoolWorker<Part>>, lane: Lane): PoolWorker<Part> | undefined {
  let best: PoolWorker<Part> | undefined;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const worker of all) {
    const isLong = worker.long !== 0;
    const short = worker.parts.size - (isLong ? 1 : 0);
    if (lane === 'long' ? isLong : short >= SHORT_IN_FLIGHT) continue;
    const load = short + (isLong ? SHORT_IN_FLIGHT : 0);
    if (load >= bestLoad) continue;
    best = worker;
    bestLoad = load;
  }
  return best;
}
