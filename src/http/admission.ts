// Admission: which requests begin now, which wait, and which are refused with 503. Each class of work has permits and one bounded queue
// of its own. The next permit goes to the workspace with the fewest running requests; no workspace has all permits of a class.

import { ServiceError, unavailable } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { counter, gauge, type Metric } from './metrics.ts';
import type { ServiceState } from './readiness.ts';
import type { LimitedWork } from './routes.ts';

/** Requests that run at once in one process, by class. More would only wait for the database, or hold the memory of streams. */
const PERMITS: Record<LimitedWork, number> = { read: 128, write: 64, heavy: 64, model: 4096 };
/** The share of each class that one workspace may have. */
const WORKSPACE_SHARE = 7 / 8;
/** Longest queue of a class. When full, the newest request of the workspace with the longest queue is refused. */
const WAITING_MAX = 512;
/** Longest wait, and the longest one while more than CROWD requests wait: half of the time after which an answer counts as late. */
const WAIT_MS_MAX = 5000;
const CROWDED_WAIT_MS_MAX = 500;
const CROWD = 64;
/** Requests that arrive after the event loop has begun others for this time wait, too, so that probes are answered in between. */
const TURN_MS = 10;
const BEGUN_A_ROUND = 8;
const SWEEP_EVERY_MS = 100;
/** Refusals with shorter gaps are one overload. /readyz shows it once it has lasted for as long. */
const OVERLOAD_MS = 10_000;

/** Refusals that are counted, not logged one by one. */
const REFUSALS = {
  late: 'The service is overloaded: the request has waited too long for its turn',
  crowded: 'The service is overloaded: too many requests wait for their turn',
};
type Reason = keyof typeof REFUSALS;

export class Overloaded extends ServiceError {
  constructor(reason: Reason) {
    super('unavailable', REFUSALS[reason], { retryAfterSeconds: 2 });
  }
}

type Waiting = { sinceMs: number; turn: PromiseWithResolvers<void> };
type Share = { running: number; readonly queue: Waiting[] };

/** The permits and the queue of one class of work. */
export class WorkQueue {
  running = 0;
  waiting = 0;
  waits = 0;
  waitedSeconds = 0;
  readonly refused: Record<Reason, number> = { late: 0, crowded: 0 };
  /** By workspace; only those with requests. */
  private readonly shares = new Map<string, Share>();
  private readonly permits: number;
  private readonly onRefusal: () => void;
  private isStepping = false;

  constructor(permits: number, onRefusal: () => void = () => undefined) {
    this.permits = permits;
    this.onRefusal = onRefusal;
  }

  /** Resolves, once the request may begin, with the function that returns its permit. Rejects with Overloaded. */
  async enter(workspaceId: string): Promise<() => void> {
    const share = this.shares.get(workspaceId) ?? { running: 0, queue: [] };
    this.shares.set(workspaceId, share);
    if (this.waiting === 0 && this.mayBegin(share) && isTurnYoung()) this.begin(share);
    else await this.wait(share).finally(() => this.forgetIdle(workspaceId, share));
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.running--;
      share.running--;
      this.forgetIdle(workspaceId, share);
      this.step();
    };
  }

  private mayBegin({ running }: Share): boolean {
    return this.running < this.permits && running < Math.ceil(this.permits * WORKSPACE_SHARE);
  }

  private begin(share: Share): void {
    this.running++;
    share.running++;
  }

  private forgetIdle(workspaceId: string, { running, queue }: Share): void {
    if (running === 0 && queue.length === 0) this.shares.delete(workspaceId);
  }

  private async wait(share: Share): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const sinceMs = performance.now();
    share.queue.push({ sinceMs, turn });
    this.waiting++;
    if (this.waiting > WAITING_MAX) {
      const longest = [...this.shares.values()].reduce((one, other) =>
        other.queue.length > one.queue.length ? other : one,
      );
      this.refuse(longest.queue.pop(), 'crowded');
    }
    this.step();
    try {
      await turn.promise;
    } finally {
      this.waits++;
      this.waitedSeconds += (performance.now() - sinceMs) / 1000;
    }
  }

  /** Begins some waiting requests in each round of the event loop, as long as one may begin. */
  step(): void {
    if (this.isStepping || this.waiting === 0) return;
    this.isStepping = true;
    setImmediate(() => {
      this.isStepping = false;
      this.refuseLate();
      for (let begun = 0; begun < BEGUN_A_ROUND; begun++) if (!this.beginNext()) return;
      this.step();
    });
  }

  private beginNext(): boolean {
    const able = [...this.shares].filter(([, share]) => share.queue.length > 0 && this.mayBegin(share));
    const [workspaceId, share] = able.sort(([, one], [, other]) => one.running - other.running)[0] ?? [];
    const next = share?.queue.shift();
    if (workspaceId === undefined || share === undefined || next === undefined) return false;
    // Behind the others, so that workspaces with as many running requests take turns.
    this.shares.delete(workspaceId);
    this.shares.set(workspaceId, share);
    this.waiting--;
    this.begin(share);
    next.turn.resolve();
    return true;
  }

  refuseLate(): void {
    for (const { queue } of this.shares.values())
      for (let [first] = queue; first !== undefined; [first] = queue) {
        const waitMsMax = this.waiting > CROWD ? CROWDED_WAIT_MS_MAX : WAIT_MS_MAX;
        if (performance.now() - first.sinceMs < waitMsMax) break;
        this.refuse(queue.shift(), 'late');
      }
  }

  /** Refuses all that wait: the service ends. */
  end(): void {
    for (const { queue } of this.shares.values())
      for (const waiting of queue.splice(0)) {
        this.waiting--;
        waiting.turn.reject(unavailable('The service is shutting down'));
      }
  }

  private refuse(waiting: Waiting | undefined, reason: Reason): void {
    this.waiting--;
    this.refused[reason]++;
    this.onRefusal();
    waiting?.turn.reject(new Overloaded(reason));
  }
}

let turnSinceMs: number | undefined;

/** Whether the event loop has begun requests for less than TURN_MS since it last looked for others. */
function isTurnYoung(): boolean {
  if (turnSinceMs !== undefined) return performance.now() - turnSinceMs < TURN_MS;
  turnSinceMs = performance.now();
  setImmediate(() => {
    turnSinceMs = undefined;
  });
  return true;
}

/** The queues of all classes of work. */
export class Admission {
  private readonly queues: ReadonlyMap<string, WorkQueue>;
  private readonly log: Logger;
  private refusedAtMs = Number.NEGATIVE_INFINITY;
  private overloadedSinceMs = 0;

  constructor(log: Logger) {
    this.log = log;
    const refused = (): void => this.noteRefusal();
    this.queues = new Map(
      Object.entries(PERMITS).map(([work, permits]) => [work, new WorkQueue(permits, refused)]),
    );
    setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  /** Resolves, once the request may begin, with the function that returns its permit. Rejects with Overloaded. */
  enter(work: LimitedWork, workspaceId: string): Promise<() => void> {
    return (this.queues.get(work) as WorkQueue).enter(workspaceId);
  }

  private noteRefusal(): void {
    const nowMs = performance.now();
    if (nowMs - this.refusedAtMs > OVERLOAD_MS) {
      this.overloadedSinceMs = nowMs;
      this.log.warn({}, 'overload: requests are refused, those that follow are only counted');
    }
    this.refusedAtMs = nowMs;
  }

  private sweep(): void {
    for (const queue of this.queues.values()) {
      queue.refuseLate();
      queue.step();
    }
  }

  /** Refuses all that wait, at the end of a shutdown's time. */
  end(): void {
    for (const queue of this.queues.values()) queue.end();
  }

  /** The state of the process itself among the backing services. */
  readiness(): ServiceState {
    const isLasting = this.refusedAtMs - this.overloadedSinceMs >= OVERLOAD_MS;
    return isLasting && performance.now() - this.refusedAtMs < OVERLOAD_MS
      ? { state: 'degraded', detail: 'overload: more requests arrive than are answered in time' }
      : { state: 'ready' };
  }

  metrics(): Metric[] {
    const by = (read: (queue: WorkQueue) => number) => () =>
      [...this.queues].map(([work, queue]) => ({ labels: { work }, value: read(queue) }));
    return [
      gauge(
        'atrium_admission_running',
        'Requests that are running, by class of work.',
        by(({ running }) => running),
      ),
      gauge(
        'atrium_admission_waiting',
        'Requests that wait to begin.',
        by(({ waiting }) => waiting),
      ),
      counter(
        'atrium_admission_waits_total',
        'Requests that have waited before they began.',
        by(({ waits }) => waits),
      ),
      counter(
        'atrium_admission_wait_seconds_total',
        'Time that they have waited.',
        by((queue) => queue.waitedSeconds),
      ),
      counter('atrium_admission_refused_total', 'Requests refused for overload, by class and reason.', () =>
        [...this.queues].flatMap(([work, { refused }]) =>
          Object.entries(refused).map(([reason, value]) => ({ labels: { work, reason }, value })),
        ),
      ),
    ];
  }
}
