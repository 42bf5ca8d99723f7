// The memory of request bodies, counted for the whole process, so that many requests of allowed size together cannot exhaust
// it, nor can a few that send their bodies slowly.

import { unavailable } from '../core/errors.ts';
import { BODIES_BYTES_MAX, BODY_GIVES_WAY_MS, SMALL_BODY_BYTES } from './limits.ts';

type Arrival = { readonly sinceMs: number; readonly giveWay: () => void };

export function createBodyMemory(bytesMax: number, nowMs: () => number = () => performance.now()) {
  const heldBy = new WeakMap<Request, number>();
  /** In the order in which they began. */
  const arriving = new Map<Request, Arrival>();
  let held = 0;
  let refusesLarge = (): boolean => false;

  const release = (request: Request): void => {
    held -= heldBy.get(request) ?? 0;
    heldBy.delete(request);
  };
  /** Whether a body that has been arriving for long, and for longer than this one, has given way. */
  const makeRoom = (request: Request): boolean => {
    const [first] = arriving;
    if (first === undefined) return false;
    const [oldest, { sinceMs, giveWay }] = first;
    if (oldest === request || nowMs() - sinceMs < BODY_GIVES_WAY_MS) return false;
    arriving.delete(oldest);
    release(oldest);
    giveWay();
    return true;
  };
  return {
    /** From now on bodies that are not small are refused while `refuses` says so. */
    refuseLargeWhile(refuses: () => boolean): void {
      refusesLarge = refuses;
    },
    /**
     * The body of the request arrives from now on, until `arrived`. Where a newer one needs its memory, it loses it, and `giveWay` is
     * called: nothing may be held for it afterwards.
     */
    arrives(request: Request, giveWay: () => void): void {
      arriving.set(request, { sinceMs: nowMs(), giveWay });
    },
    arrived(request: Request): void {
      arriving.delete(request);
    },
    /** Adds the bytes to those of the request. Throws 503 where the bodies of all requests would be too large. */
    hold(request: Request, bytes: number): void {
      while (held + bytes > bytesMax) {
        if (!makeRoom(request))
          throw unavailable('The bodies of the requests that are being answered take too much memory');
      }
      const ofRequest = (heldBy.get(request) ?? 0) + bytes;
      if (ofRequest > SMALL_BODY_BYTES && refusesLarge())
        throw unavailable('The memory of the service is exhausted for now: large bodies are refused');
      held += bytes;
      heldBy.set(request, ofRequest);
    },
    /** Releases the bytes of a request that is answered. */
    release,
    /** The bytes of all requests. */
    heldBytes: () => held,
  };
}

/** The body memory of this process. */
export const bodyMemory = createBodyMemory(BODIES_BYTES_MAX);
