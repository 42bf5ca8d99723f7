// Admission: which requests begin now, which wait, and which are refused with 503 because more arrive than can be answered in
// time. It counts requests from the check of their credential to their answer, and streams to their end.

import { ServiceError, unavailable } from '../../core/errors.ts';
import type { OnInterrupt } from '../../core/interruption.ts';
import type { Logger } from '../../core/logger.ts';
import type { Operation } from '../routes.ts';
import { createDelay, DELAY, type DelayBounds } from './delay.ts';
import {
  type Asker,
  createFairSemaphore,
  type Permit,
  type RefusalReason,
  type Waiting,
} from './fair-semaphore.ts';
import type { MemoryGuard } from './memory-guard.ts';
import { createRefusals, type Refusals } from './refusals.ts';
import { LIMITED_WORK, type LimitedWork, PERMITS, WAITING_MAX } from './work.ts';

/** Refusals that are counted, not logged one by one. */
export class Overloaded extends ServiceError {
  constructor(sentence: string) {
    super('unavailable', sentence, { retryAfterSeconds: 2 });
  }
}

/** The door of one operation. */
export type Door = {
  /** A permit, at once where no other request waits. Throws or rejects with Overloaded. */
  enter(asker: Asker): Permit | Promise<Permit>;
  /** Returns a permit, once. */
  release(permit: Permit): void;
};

export type Admission = {
  /** Undefined for operations that are always begun. */
  door(operation: Pick<Operation, 'work'>): Door | undefined;
  refusals: Refusals;
  memory: MemoryGuard | undefined;
  /** By class of work. */
  state(): { work: LimitedWork; running: number; waiting: number; waitedSeconds: number; waits: number }[];
};

export type AdmissionDeps = {
  memory: MemoryGuard | undefined;
  log: Logger;
  /** At the deadline of a shutdown nothing waits any longer. */
  onInterrupt: OnInterrupt;
  permits?: Partial<Record<LimitedWork, number>>;
  delay?: DelayBounds;
};

/**
 * The event loop begins requests one after the other for this time before it looks for others: requests that came together wait in
 * the queue instead, where shares and delays are known, and probes are answered between them.
 */
const TURN_MS = 10;
/** How often the queues are looked through for some that have waited too long. */
const SWEEP_EVERY_MS = 50;
/** Once the oldest of a queue has waited for longer, the newest is next: half of the time after which an answer counts as late. */
const PATIENCE_MS = 500;
/** Of each class, the part that one workspace can never take from the others. */
const LEFT_TO_OTHERS = 1 / 8;

const SENTENCES: Record<Exclude<RefusalReason, 'ending'>, string> = {
  late: 'The service is overloaded: the request has waited too long for its turn',
  crowded: 'The service is overloaded: too many requests wait for their turn',
};

export function createAdmission({
  memory,
  log,
  onInterrupt,
  permits,
  delay = DELAY,
}: AdmissionDeps): Admission {
  const refusals = createRefusals(log);
  const turn = createTurn();
  const clockMs = createRunningClock();
  const gates = LIMITED_WORK.map((work) => createGate(work, permits?.[work] ?? PERMITS[work]));
  let isStepping = false;
  let sweeper: ReturnType<typeof setInterval> | undefined;

  /** Begins one waiting request of each class in turn, and lets the event loop read new arrivals before the next. */
  const step = (): void => {
    isStepping = false;
    for (let tried = 0; tried < gates.length; tried++) {
      const gate = gates.shift() as Gate;
      gates.push(gate);
      if (gate.beginNext()) break;
    }
    stepSoon();
  };
  const stepSoon = (): void => {
    if (isStepping || !gates.some((gate) => gate.canBegin())) return;
    isStepping = true;
    setImmediate(step);
  };
  const sweep = (): void => {
    for (const gate of gates) gate.refuseLate();
    if (gates.some((gate) => gate.semaphore.waiting() > 0)) return;
    clearInterval(sweeper);
    sweeper = undefined;
  };
  onInterrupt(() => {
    for (const gate of gates) gate.semaphore.refuseSince(Number.POSITIVE_INFINITY, 'ending');
  });

  type Gate = ReturnType<typeof createGate>;
  function createGate(work: LimitedWork, total: number) {
    const ofWorkspace = Math.ceil(total * (1 - LEFT_TO_OTHERS));
    const semaphore = createFairSemaphore({
      total,
      ofWorkspace,
      waiting: WAITING_MAX,
      patienceMs: PATIENCE_MS,
    });
    const control = createDelay(delay);
    const waits = { waitedSeconds: 0, waits: 0 };
    const note = (): void => control.note(semaphore.waiting(), clockMs());

    const wait = (asker: Asker): Promise<Permit> =>
      new Promise((resolve, reject) => {
        const sinceMs = performance.now();
        const waited = (): void => {
          waits.waitedSeconds += (performance.now() - sinceMs) / 1000;
          waits.waits++;
        };
        const entry: Waiting = {
          sinceMs: clockMs(),
          enter(permit) {
            waited();
            resolve(permit);
          },
          refuse(reason) {
            waited();
            if (reason === 'ending') return reject(unavailable('The service is shutting down'));
            refusals.add(work, reason);
            reject(new Overloaded(SENTENCES[reason]));
          },
        };
        semaphore.enqueue(asker, entry);
        note();
        sweeper ??= setInterval(sweep, SWEEP_EVERY_MS);
        stepSoon();
      });

    return {
      work,
      semaphore,
      waits,
      enter(asker: Asker): Permit | Promise<Permit> {
        if (memory !== undefined) requireMemory(memory, work, refusals);
        return (turn.isYoung() ? semaphore.acquire(asker) : undefined) ?? wait(asker);
      },
      release(permit: Permit): void {
        semaphore.release(permit);
        if (semaphore.waiting() > 0) stepSoon();
      },
      canBegin: () => semaphore.canAcquire(),
      /** Whether one has begun. */
      beginNext(): boolean {
        this.refuseLate();
        const next = semaphore.next(clockMs());
        note();
        next?.entry.enter(next.permit);
        return next !== undefined;
      },
      refuseLate(): void {
        if (semaphore.waiting() === 0) return;
        const nowMs = clockMs();
        semaphore.refuseSince(nowMs - control.allowedMs(nowMs), 'late');
        note();
      },
    };
  }

  const byWork = new Map(gates.map((gate) => [gate.work, gate]));
  return {
    door({ work }) {
      return work === 'exempt' ? undefined : byWork.get(work);
    },
    refusals,
    memory,
    state: () =>
      [...byWork.values()].map(({ work, semaphore, waits }) => ({
        work,
        running: semaphore.running(),
        waiting: semaphore.waiting(),
        ...waits,
      })),
  };
}

function requireMemory(memory: MemoryGuard, work: LimitedWork, refusals: Refusals): void {
  const level = memory.level();
  if (level === 'fine' || (level === 'tight' && (work === 'read' || work === 'write'))) return;
  refusals.add(work, 'memory');
  throw new Overloaded('The memory of the service is exhausted for now');
}

/** Longest time that passes between two looks at the clock: queues are looked at more often while the process runs. */
const LOOK_MS_MAX = 100;

/**
 * Time in which the process has run: while it is stopped, or has no processor, no request waits for another, and what it finds
 * afterwards is no overload.
 */
export function createRunningClock(read: () => number = () => performance.now()): () => number {
  let lookedAtMs = read();
  let ranMs = 0;
  return () => {
    const nowMs = read();
    ranMs += Math.min(nowMs - lookedAtMs, LOOK_MS_MAX);
    lookedAtMs = nowMs;
    return ranMs;
  };
}

/** Whether the event loop has begun requests for less than a turn since it last looked for others. */
function createTurn() {
  let beganAtMs: number | undefined;
  const end = (): void => {
    beganAtMs = undefined;
  };
  return {
    isYoung(): boolean {
      const nowMs = performance.now();
      if (beganAtMs !== undefined) return nowMs - beganAtMs < TURN_MS;
      beganAtMs = nowMs;
      setImmediate(end);
      return true;
    },
  };
}
