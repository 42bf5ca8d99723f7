// What a pool and its threads say to each other.

import type { MessagePort } from 'node:worker_threads';

/** The first message to a thread, and the only one that does not go through its port. */
export type Opening = { module: WebAssembly.Module; port: MessagePort; attention: SharedArrayBuffer };

/** Cells of the shared memory that a thread looks at while it runs something long. */
export const ATTENTION = 0;
export const CANCELLED = 1;
export const ATTENTION_BYTES = 8;

/** One part of some work; `id` is above 0 and never used again. A thread has at most one long one at a time. */
export type Order = { id: number; kind: string; input: unknown; long: boolean };

export type Report =
  | { type: 'open' }
  | { type: 'done'; id: number; output: unknown; ms: number }
  | { type: 'cancelled'; id: number }
  | { type: 'failed'; id: number; reason: string };
