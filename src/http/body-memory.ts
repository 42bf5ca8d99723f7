// The memory of request bodies, counted for the whole process, so that many requests of allowed size together cannot exhaust
// it.

import { unavailable } from '../core/errors.ts';
import { BODIES_BYTES_MAX } from './limits.ts';

export function createBodyMemory(bytesMax: number) {
  const heldBy = new WeakMap<Request, number>();
  let held = 0;
  return {
    /** Adds the bytes to those of the request. Throws 503 where the bodies of all requests would be too large. */
    hold(request: Request, bytes: number): void {
      if (held + bytes > bytesMax)
        throw unavailable('The bodies of the requests that are being answered take too much memory');
      held += bytes;
      heldBy.set(request, (heldBy.get(request) ?? 0) + bytes);
    },
    /** Releases the bytes of a request that is answered. */
    release(request: Request): void {
      held -= heldBy.get(request) ?? 0;
      heldBy.delete(request);
    },
    /** The bytes of all requests. */
    heldBytes: () => held,
  };
}

/** The body memory of this process. */
export const bodyMemory = createBodyMemory(BODIES_BYTES_MAX);
