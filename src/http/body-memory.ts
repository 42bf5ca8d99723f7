// The memory of request bodies, counted for the whole process, so that many requests of allowed size together cannot exhaust
// it.

import { unavailable } from '../core/errors.ts';
import { BODIES_BYTES_MAX, SMALL_BODY_BYTES } from './limits.ts';

export function createBodyMemory(bytesMax: number) {
  const heldBy = new WeakMap<Request, number>();
  let held = 0;
  let refusesLarge = (): boolean => false;
  return {
    /** From now on bodies that are not small are refused while `refuses` says so. */
    refuseLargeWhile(refuses: () => boolean): void {
      refusesLarge = refuses;
    },
    /** Adds the bytes to those of the request. Throws 503 where the bodies of all requests would be too large. */
    hold(request: Request, bytes: number): void {
      if (held + bytes > bytesMax)
        throw unavailable('The bodies of the requests that are being answered take too much memory');
      const ofRequest = (heldBy.get(request) ?? 0) + bytes;
      if (ofRequest > SMALL_BODY_BYTES && refusesLarge())
        throw unavailable('The memory of the service is exhausted for now: large bodies are refused');
      held += bytes;
      heldBy.set(request, ofRequest);
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
