// The permits of an upstream, shared fairly between workspaces.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { QUEUE_WAIT_MS_MAX } from './limits.ts';

export type PermitBounds = { runningMax: number; waitingMax: number };

/** Workspaces without requests are forgotten beyond this number. */
const SHARES_MAX = 1000;
/** A workspace that has used the upstream within this time finds a part of its permits free. */
const SHARING_MS = 600_000;
/** Permits that were all in use count as contended for so long. */
const CONTENDED_MS = 5000;

type Waiting = { enter(): void; leave(reason: unknown): void };
/** The requests of one workspace. */
type Share = { running: number; usedAtMs: number; readonly waiting: Set<Waiting> };

/**
 * A free permit goes to the waiting workspace with the fewest, in order of arrival within a workspace. While several workspaces use the
 * upstream, none has more than three quarters. A full queue refuses the newest of the workspace with the longest queue.
 */
export class UpstreamPermits {
  private bounds: PermitBounds;
  private readonly shares = new Map<string, Share>();
  private running = 0;
  private waiting = 0;
  private contendedAtMs = Number.NEGATIVE_INFINITY;

  constructor(bounds: PermitBounds) {
    this.bounds = bounds;
  }

  /**
   * Acquires a permit. Rejects with 503 when the queue is full and after the longest wait, and with the signal's reason when it
   * aborts.
   */
  async acquire(workspaceId: string, signal: AbortSignal): Promise<void> {
    const share = this.find(workspaceId);
    share.usedAtMs = performance.now();
    if (share.waiting.size === 0 && this.mayRun(share)) {
      this.take(share);
      return;
    }
    this.contendedAtMs = share.usedAtMs;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // At once, so that no permit is given to a caller that has gone.
    const end = (): void => {
      if (share.waiting.delete(entry)) this.waiting -= 1;
    };
    const entry: Waiting = {
      enter() {
        end();
        resolve();
      },
      leave(reason) {
        end();
        reject(reason);
      },
    };
    const onAbort = (): void => entry.leave(signal.reason);
    const timer = setTimeout(() => entry.leave(refusal()), QUEUE_WAIT_MS_MAX);
    signal.addEventListener('abort', onAbort, { once: true });
    share.waiting.add(entry);
    this.waiting += 1;
    if (this.waiting > this.bounds.waitingMax) this.refuseOne();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Returns a permit; to be called once for each. */
  release(workspaceId: string): void {
    const share = this.shares.get(workspaceId);
    this.running -= 1;
    if (share !== undefined) share.running -= 1;
    this.admit();
  }

  /** Changes the bounds; permits that are held are not revoked. */
  resize(bounds: PermitBounds): void {
    this.bounds = bounds;
    this.admit();
  }

  /** Whether callers wait, or had to wait a moment ago. */
  isContended(): boolean {
    return this.waiting > 0 || performance.now() - this.contendedAtMs < CONTENDED_MS;
  }

  metrics(): { running: number; waiting: number } {
    return { running: this.running, waiting: this.waiting };
  }

  private find(workspaceId: string): Share {
    const known = this.shares.get(workspaceId);
    if (known !== undefined) return known;
    if (this.shares.size >= SHARES_MAX)
      for (const [id, { running, waiting }] of this.shares)
        if (running + waiting.size === 0) this.shares.delete(id);
    const share = { running: 0, usedAtMs: 0, waiting: new Set<Waiting>() };
    this.shares.set(workspaceId, share);
    return share;
  }

  private mayRun(share: Share): boolean {
    const { runningMax } = this.bounds;
    if (this.running >= runningMax) return false;
    if (share.running < Math.max(1, Math.floor((runningMax * 3) / 4))) return true;
    const sinceMs = performance.now() - SHARING_MS;
    for (const each of this.shares.values()) if (each !== share && each.usedAtMs > sinceMs) return false;
    return true;
  }

  private take(share: Share): void {
    this.running += 1;
    share.running += 1;
  }

  private admit(): void {
    while (this.waiting > 0) {
      let next: [workspaceId: string, share: Share] | undefined;
      for (const each of this.shares) {
        const [, share] = each;
        if (share.waiting.size === 0 || !this.mayRun(share)) continue;
        if (next === undefined || share.running < next[1].running) next = each;
      }
      const [entry] = next?.[1].waiting ?? [];
      if (next === undefined || entry === undefined) return;
      // The workspace that was served last stands last.
      this.shares.delete(next[0]);
      this.shares.set(...next);
      this.take(next[1]);
      entry.enter();
    }
  }

  private refuseOne(): void {
    const [longest] = [...this.shares.values()].sort((a, b) => b.waiting.size - a.waiting.size);
    [...(longest?.waiting ?? [])].at(-1)?.leave(refusal());
  }
}

const refusal = (): OpenAiRefusal =>
  new OpenAiRefusal('unavailable', 'Too many requests wait for the model', { retryAfterSeconds: 2 });
