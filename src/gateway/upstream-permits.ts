// The permits of an upstream: how many of its requests run at once, shared fairly between workspaces. A free permit goes to the
// waiting workspace with the fewest running requests, in order of arrival within a workspace.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { CONTENDED_MS, QUEUE_WAIT_MS_MAX, SHARING_MS } from './limits.ts';

export type PermitBounds = { runningMax: number; waitingMax: number };

export type UpstreamPermits = ReturnType<typeof createUpstreamPermits>;

type Waiting = { enter(): void; refuse(): void };
/** The requests of one workspace. */
type Share = { running: number; askedAtMs: number; readonly waiting: Set<Waiting> };

/** Workspaces without requests are forgotten beyond this number. */
const SHARES_MAX = 1000;

const refusal = (): OpenAiRefusal =>
  new OpenAiRefusal('unavailable', 'Too many requests wait for the model', { retryAfterSeconds: 2 });

export function createUpstreamPermits(initial: PermitBounds, now: () => number = () => performance.now()) {
  let bounds = initial;
  let running = 0;
  let waiting = 0;
  let contendedAtMs = Number.NEGATIVE_INFINITY;
  /** The one that was served last stands last. */
  const shares = new Map<string, Share>();

  const find = (workspaceId: string): Share => {
    let share = shares.get(workspaceId);
    if (share === undefined) {
      if (shares.size >= SHARES_MAX)
        for (const [id, each] of shares) if (each.running + each.waiting.size === 0) shares.delete(id);
      share = { running: 0, askedAtMs: 0, waiting: new Set() };
      shares.set(workspaceId, share);
    }
    return share;
  };

  /** While several workspaces use the upstream, none may have more than three quarters of it. */
  const mayRun = (share: Share): boolean => {
    if (running >= bounds.runningMax) return false;
    if (share.running < Math.max(1, Math.floor((bounds.runningMax * 3) / 4))) return true;
    const sinceMs = now() - SHARING_MS;
    for (const each of shares.values()) if (each !== share && each.askedAtMs > sinceMs) return false;
    return true;
  };

  const hold = (share: Share): void => {
    running += 1;
    share.running += 1;
  };

  const admit = (): void => {
    while (waiting > 0) {
      let next: [id: string, share: Share] | undefined;
      for (const each of shares) {
        const [, share] = each;
        if (
          share.waiting.size > 0 &&
          mayRun(share) &&
          (next === undefined || share.running < next[1].running)
        )
          next = each;
      }
      const [entry] = next?.[1].waiting ?? [];
      if (next === undefined || entry === undefined) return;
      shares.delete(next[0]);
      shares.set(...next);
      hold(next[1]);
      entry.enter();
    }
  };

  /** Where too many wait, the newest of the workspace with most of them is refused. */
  const refuseOne = (): void => {
    let longest: Share | undefined;
    for (const each of shares.values())
      if (longest === undefined || each.waiting.size > longest.waiting.size) longest = each;
    [...(longest?.waiting ?? [])].at(-1)?.refuse();
  };

  const wait = (share: Share, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (): void => {
        waiting -= 1;
        share.waiting.delete(entry);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const leave = (reason: unknown): void => {
        settle();
        reject(reason);
      };
      const entry: Waiting = {
        enter() {
          settle();
          resolve();
        },
        refuse: () => leave(refusal()),
      };
      const onAbort = (): void => leave(signal.reason);
      const timer = setTimeout(entry.refuse, QUEUE_WAIT_MS_MAX);
      signal.addEventListener('abort', onAbort, { once: true });
      waiting += 1;
      share.waiting.add(entry);
      if (waiting > bounds.waitingMax) refuseOne();
    });

  return {
    /**
     * Acquires a permit, without a promise where one is free. Rejects with 503 when the queue is full or after the longest wait;
     * with the signal's reason when it aborts.
     */
    acquire(workspaceId: string, signal: AbortSignal): Promise<void> | undefined {
      const share = find(workspaceId);
      share.askedAtMs = now();
      if (share.waiting.size === 0 && mayRun(share)) {
        hold(share);
        return undefined;
      }
      contendedAtMs = now();
      signal.throwIfAborted();
      return wait(share, signal);
    },
    /** Returns a permit; to be called once for each. */
    release(workspaceId: string): void {
      const share = shares.get(workspaceId);
      running -= 1;
      if (share !== undefined) share.running -= 1;
      admit();
    },
    /** Changes the bounds; permits that are held are not revoked. */
    resize(next: PermitBounds): void {
      bounds = next;
      admit();
    },
    /** Whether requests wait, or had to wait or were refused lately. */
    isContended: (): boolean => waiting > 0 || now() - contendedAtMs < CONTENDED_MS,
    metrics: () => ({ running, waiting }),
  };
}
