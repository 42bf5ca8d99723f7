// The body of a request: read whole, up to the limit of its operation, within a time, and counted in the memory of the process.

import { createDeadlines } from '../core/deadlines.ts';
import { requestTimeout, ServiceError, tooLarge, unavailable } from '../core/errors.ts';
import { type Link, Ring } from '../core/ring.ts';
import {
  BODIES_BYTES_MAX,
  BODY_BYTES_PER_SECOND_MIN,
  BODY_GIVES_WAY_MS,
  BODY_TIMEOUT_MS,
  SMALL_BODY_BYTES,
} from './limits.ts';

/**
 * Throws 413 above the limit (before reading, where the length is declared), 408 when it does not arrive in time
 * (or its client has gone), and 503 where the bodies of all requests take too much memory.
 */
export function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > bytesMax) return Promise.reject(bodyTooLarge(bytesMax));
  return inTime(request, (progress) =>
    declared <= SMALL_BODY_BYTES ? readAtOnce(request, declared) : readBounded(request, bytesMax, progress),
  );
}

export const bodyTooLarge = (bytesMax: number) => tooLarge(`The body is larger than ${bytesMax} bytes`);

const deadlines = createDeadlines();

/** A body on its way: it arrives in time, or its reading is over. */
type Progress = {
  /** So many bytes are there. */
  note(size: number): void;
  isOver(): boolean;
};

/** Uses callbacks, because a race of promises and a timer for each body cost more than a small request itself. */
const inTime = (request: Request, read: (progress: Progress) => Promise<Uint8Array>): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    let isOver = false;
    const startedAtMs = performance.now();
    const end = (): void => {
      isOver = true;
      deadline.drop();
      bodyMemory.arrived(request);
    };
    const refuse = (cause?: unknown): void => {
      end();
      reject(requestTimeout('The body did not arrive in time', { cause }));
    };
    const deadline = deadlines.create(refuse);
    deadline.set(BODY_TIMEOUT_MS);
    bodyMemory.arrives(request, refuse);
    const note = (size: number): void => {
      const lateMs = performance.now() - startedAtMs - (size / BODY_BYTES_PER_SECOND_MIN) * 1000;
      deadline.set(BODY_TIMEOUT_MS - Math.max(0, lateMs));
    };
    read({ note, isOver: () => isOver }).then(
      (bytes) => {
        end();
        resolve(bytes);
      },
      (error: unknown) => {
        if (!(error instanceof ServiceError)) return refuse(error);
        end();
        reject(error);
      },
    );
  });

async function readAtOnce(request: Request, size: number): Promise<Uint8Array> {
  bodyMemory.hold(request, size);
  return await request.bytes();
}

/** Collects a body that is large, or of undeclared length, as it arrives, up to the limit. */
async function readBounded(request: Request, bytesMax: number, progress: Progress): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  const chunks: Uint8Array[] = [];
  let whole: Uint8Array | undefined;
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    if (progress.isOver()) break;
    const at = size;
    size += chunk.length;
    if (size > bytesMax) throw bodyTooLarge(bytesMax);
    progress.note(size);
    if (whole === undefined) {
      bodyMemory.hold(request, chunk.length);
      chunks.push(chunk);
    } else moveTo(whole, at, chunk);
    // Half of it: a client that only declares a large body takes no memory by that.
    if (whole === undefined && size < declared && size * 2 >= declared) {
      bodyMemory.hold(request, declared - size);
      whole = new Uint8Array(declared);
      joinTo(whole, chunks.splice(0));
    }
  }
  if (whole !== undefined) return whole.subarray(0, size);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function joinTo(whole: Uint8Array, chunks: readonly Uint8Array[]): void {
  let at = 0;
  for (const chunk of chunks) {
    const { length } = chunk;
    moveTo(whole, at, chunk);
    at += length;
  }
}

/** Copies the chunk, and gives back its memory, which otherwise stays until the collector comes: a large body would be there twice. */
function moveTo(whole: Uint8Array, at: number, chunk: Uint8Array): void {
  whole.set(chunk, at);
  (chunk.buffer as ArrayBuffer).transfer(0);
}

type Arrival = { readonly request: Request; readonly sinceMs: number; readonly giveWay: () => void };

/** What a request has: the bytes that are held for it, and its place among the bodies on their way. */
type Share = { bytes: number; arrival: Link<Arrival> | undefined };

/** Counts the bodies of all requests, so that many of allowed size cannot exhaust the memory, nor a few that arrive slowly. */
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
