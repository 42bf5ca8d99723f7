// The memory that request bodies take, counted for the whole process: many requests that are each small enough cannot
// exhaust it together.

import { unavailable } from '../core/errors.ts';
import { BODIES_BYTES_MAX } from './limits.ts';

export type BodyMemory = {
  /** Counts so many more bytes to the request. Throws 503 where the bodies of all requests would be too large. */
  hold(request: Request, bytes: number): void;
  /** The request has been answered. */
  release(request: Request): void;
  /** Bytes that are held by all requests. */
  heldBytes(): number;
};

export function createBodyMemory(bytesMax: number): BodyMemory {
  const heldBy = new WeakMap<Request, number>();
  let held = 0;
  return {
    hold(request, bytes) {
      if (held + bytes > bytesMax) {
        throw unavailable('The bodies of the requests that are being answered take too much memory');
      }
      held += bytes;
      heldBy.set(request, (heldBy.get(request) ?? 0) + bytes);
    },
    release(request) {
      held -= heldBy.get(request) ?? 0;
      heldBy.delete(request);
    },
    heldBytes: () => held,
  };
}

/** That of this process. */
export const bodyMemory = createBodyMemory(BODIES_BYTES_MAX);
