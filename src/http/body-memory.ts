// The memory of request bodies, counted for the whole process, so that many requests of allowed size together cannot exhaust
// it, nor can a few that send their bodies slowly.

import { unavailable } from '../core/errors.ts';
import { type Link, Ring } from '../core/ring.ts';
import { BODIES_BYTES_MAX, BODY_GIVES_WAY_MS, SMALL_BODY_BYTES } from './limits.ts';

type Arrival = { readonly request: Request; readonly sinceMs: number; readonly giveWay: () => void };

/** What a request has: the bytes that are held for it, and its place among the bodies on their way. */
type Share = { bytes: number; arrival: Link<Arrival> | undefined };

export function createBodyMemory(bytesMax: number, nowMs: () => number = () => performance.now()) {
  const shares = new WeakMap<Request, Share>();
  const arriving = new Ring<Arrival>();
  let held = 0;
  let refusesLarge = (): boolean => false;

  const shareOf = (request: Request): Share => {
    const known = shares.get(request);
    if (known !== undefined) return known;
    const share: Share = { bytes: 0, arrival: undefined };
    shares.set(request, share);
    return share;
  };
  const release = (request: Request): void => {
    const share = shares.get(request);
    if (share === undefined) return;
    held -= share.bytes;
    share.bytes = 0;
    // While it is on its way, its end asks for the share again.
    if (share.arrival === undefined) shares.delete(request);
  };
  /** Whether a body that has been arriving for long, and for longer than this one, has given way. */
  const makeRoom = (request: Request): boolean => {
    const first = arriving.first();
    if (first?.item === undefined) return false;
    const { request: oldest, sinceMs, giveWay } = first.item;
    if (oldest === request || nowMs() - sinceMs < BODY_GIVES_WAY_MS) return false;
    arriving.remove(first);
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
      shareOf(request).arrival = arriving.add({ request, sinceMs: nowMs(), giveWay });
    },
    arrived(request: Request): void {
      const share = shares.get(request);
      if (share?.arrival === undefined) return;
      arriving.remove(share.arrival);
      share.arrival = undefined;
    },
    /** Adds the bytes to those of the request. Throws 503 where the bodies of all requests would be too large. */
    hold(request: Request, bytes: number): void {
      while (held + bytes > bytesMax) {
        if (!makeRoom(request))
          throw unavailable('The bodies of the requests that are being answered take too much memory');
      }
      const share = shareOf(request);
      const ofRequest = share.bytes + bytes;
      if (ofRequest > SMALL_BODY_BYTES && refusesLarge())
        throw unavailable('The memory of the service is exhausted for now: large bodies are refused');
      held += bytes;
      share.bytes = ofRequest;
    },
    /** Releases the bytes of a request that is answered. */
    release,
    /** The bytes of all requests. */
    heldBytes: () => held,
  };
}

/** The body memory of this process. */
export const bodyMemory = createBodyMemory(BODIES_BYTES_MAX);
