// PORT: where events are safe before the database has them. Two adapters: journal/ (embedded) and jetstream/.

import type { DiskFault } from '../../core/disk-fault.ts';
import type { TraceContext, TraceHeaders } from '../../core/trace-context.ts';
import { until } from '../../core/wait.ts';

/** A message of the buffer: many events as one pack (row.ts); the buffer does not look inside. */
export type Delivery = {
  pack: Uint8Array;
  /** The adapter's own name for it. */
  receipt: unknown;
  /** The span that appended it, where its trace is sampled. */
  trace?: TraceContext | undefined;
};

export type BufferMetrics = {
  /** Packs that no sink has acknowledged, and the size of these and their overhead. */
  packs: number;
  bytes: number;
  bytesMax: number;
  /** Packs are numbered in the order in which they were accepted: the first that waits and the last; undefined where none waits. */
  waiting?: { first: number; last: number } | undefined;
  /** Why it accepts nothing at the moment: the error of its disk. */
  fault?: DiskFault | undefined;
};

/** Whether an acknowledged event survives a loss of power. */
export type Durability = { synced: true } | { synced: false; warning: string };

/** A signal that aborts ends the wait. */
export type FetchLimits = { bytesMax: number; packsMax: number; waitMs: number; signal?: AbortSignal };

const POLL_MS = 50;

export abstract class EventBuffer {
  /** As spans name it: the system and the destination of its messages. */
  abstract readonly description: { system: string; destination: string };

  /** Opens the buffer, or begins to: an unreachable server is waited for in the background. Throws one line for a server that cannot serve. */
  abstract start(): Promise<void>;

  /**
   * Resolves once the pack is durable; then it is delivered until acknowledged, also when the process dies here.
   * Throws 503 when the buffer is away, full or slow: then it may or may not have the pack. Within 2 s, or within 10 s where
   * the buffer has just answered others slowly.
   */
  abstract append(pack: Uint8Array, trace?: TraceHeaders): Promise<void>;

  /**
   * Packs that wait, oldest first, at least one, about `bytesMax` of them and at most `packsMax`; none when nothing
   * came within `waitMs`. They are with this caller until `acknowledge` or `release`, or until its process has died.
   * Throws when the buffer is away.
   */
  abstract fetch(limits: FetchLimits): Promise<Delivery[]>;

  /** The database has them: they are never delivered again (but after a crash). Throws when the buffer is away. */
  abstract acknowledge(deliveries: readonly Delivery[]): Promise<void>;

  /** They could not be stored now: they are delivered again. */
  abstract release(deliveries: readonly Delivery[]): Promise<void>;

  /** Throws when the buffer is away. */
  abstract metrics(): Promise<BufferMetrics>;

  abstract durability(): Durability;

  /** Name of the lock that a sink of this buffer must hold; undefined when several may fetch at once. */
  abstract sinkLock(): string | undefined;

  abstract close(): Promise<void>;

  /**
   * Waits until all events are stored that the buffer has accepted by now, at most for the time. Returns how many packs of them
   * are not; null where the buffer was away.
   */
  async awaitStored(timeoutMs: number): Promise<number | null> {
    let found: BufferMetrics | undefined;
    let last: number | undefined;
    const left = (): number =>
      Math.max(0, (last ?? 0) + 1 - (found?.waiting?.first ?? Number.POSITIVE_INFINITY));
    const isStored = async (): Promise<boolean> => {
      // A connection is opened in the background.
      found = await this.metrics().catch(() => found);
      if (found !== undefined) last ??= found.waiting?.last ?? 0;
      return found !== undefined && left() === 0;
    };
    await until(isStored, { everyMs: POLL_MS, timeoutMs });
    return found === undefined ? null : left();
  }
}

/** Largest pack, but for a single event that is larger. */
export const PACK_BYTES_MAX = 524_288;
/** Within which `append` has answered, as long as the buffer is not known to be slow. */
export const APPEND_TIMEOUT_MS = 1800;
