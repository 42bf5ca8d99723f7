// PORT: where events are safe before the database has them. Two adapters: journal/ (embedded) and jetstream/.

import type { DiskFault } from '../../core/disk-fault.ts';
import type { TraceContext, TraceHeaders } from '../../core/trace-context.ts';

/** A message of the buffer: many events as one (pack.ts); the buffer does not look inside. */
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

export type FetchLimits = { bytesMax: number; packsMax: number; waitMs: number };

export type EventBuffer = {
  /** As spans name it: the system and the destination of its messages. */
  description: { system: string; destination: string };
  /** Opens the buffer, or begins to: an unreachable server is waited for in the background. Throws one line for a server that cannot serve. */
  start(): Promise<void>;
  /**
   * Resolves once the pack is durable; then it is delivered until acknowledged, also when the process dies here.
   * Throws 503 when the buffer is away, full or slow: then it may or may not have the pack. Within 2 s, or within 10 s where
   * the buffer has just answered others slowly.
   */
  append(pack: Uint8Array, trace?: TraceHeaders): Promise<void>;
  /**
   * Packs that wait, oldest first, at least one, about `bytesMax` of them and at most `packsMax`; none when nothing
   * came within `waitMs`. They are with this caller until `acknowledge` or `release`, or until its process has died.
   * Throws when the buffer is away.
   */
  fetch(limits: FetchLimits): Promise<Delivery[]>;
  /** Ends a fetch that waits, with nothing. Without it a fetch lasts for its time, and an end of the service as well. */
  endFetch?(): void;
  /** The database has them: they are never delivered again (but after a crash). Throws when the buffer is away. */
  acknowledge(deliveries: readonly Delivery[]): Promise<void>;
  /** They could not be stored now: they are delivered again. */
  release(deliveries: readonly Delivery[]): Promise<void>;
  /** Throws when the buffer is away. */
  metrics(): Promise<BufferMetrics>;
  durability(): Durability;
  /** Name of the lock that a sink of this buffer must hold; undefined when several may fetch at once. */
  sinkLock(): string | undefined;
  close(): Promise<void>;
};

/** Largest pack, but for a single event that is larger. */
export const PACK_BYTES_MAX = 524_288;
/** Within which `append` has answered, as long as the buffer is not known to be slow. */
export const APPEND_TIMEOUT_MS = 1800;
