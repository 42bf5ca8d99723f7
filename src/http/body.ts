// The body of a request: read whole, up to the limit of its operation, within a time, and counted in the memory of the process.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  codeOf,
  requestTimeout,
  ServiceError,
  tooLarge,
  unavailable,
  unsupportedMediaType,
  valueError,
} from '../core/errors.ts';
import {
  BODIES_BYTES_MAX,
  BODY_BYTES_PER_SECOND_MIN,
  BODY_GIVES_WAY_MS,
  BODY_TIMEOUT_MS,
  INFLATED_BYTES_ALWAYS_TAKEN,
  INFLATION_RATIO_MAX,
  SMALL_BODY_BYTES,
} from './limits.ts';

const decompress = promisify(gunzip);
const SWEEP_EVERY_MS = 100;

/** Whose body it is: the state of a request, which counts the bytes that are held for it. */
export type BodyHolder = { bodyBytes: number };

/** A body on its way. */
type Arrival = { readonly holder: BodyHolder; readonly sinceMs: number; dueAtMs: number; abort(): void };

/** Counts the bodies of all requests, so that many of allowed size cannot exhaust the memory, nor a few that arrive slowly. */
export class BodyMemory {
  /** The bytes of all requests. */
  heldBytes = 0;
  private readonly bytesMax: number;
  /** The oldest first. */
  private readonly arriving = new Set<Arrival>();
  private sweeper: ReturnType<typeof setInterval> | undefined;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** A body arrives until `end`. `abort` is called where it takes too long, or a newer one needs its memory. */
  begin(holder: BodyHolder, abort: () => void): Arrival {
    const sinceMs = performance.now();
    const arrival = { holder, sinceMs, dueAtMs: sinceMs + BODY_TIMEOUT_MS, abort };
    this.arriving.add(arrival);
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS);
    return arrival;
  }

  end(arrival: Arrival): void {
    this.arriving.delete(arrival);
  }

  isArriving(arrival: Arrival): boolean {
    return this.arriving.has(arrival);
  }

  /** Adds the bytes to those of the holder. Throws 503 where the bodies of all requests would be too large. */
  hold(holder: BodyHolder, bytes: number): void {
    while (this.heldBytes + bytes > this.bytesMax) this.evictOldest(holder);
    this.heldBytes += bytes;
    holder.bodyBytes += bytes;
  }

  /** Releases the bytes of a request that is answered. */
  release(holder: BodyHolder): void {
    this.heldBytes -= holder.bodyBytes;
    holder.bodyBytes = 0;
  }

  private evictOldest(asking: BodyHolder): void {
    const [oldest] = this.arriving;
    if (
      oldest === undefined ||
      oldest.holder === asking ||
      performance.now() - oldest.sinceMs < BODY_GIVES_WAY_MS
    )
      throw unavailable('The server is out of request memory; retry later');
    this.abort(oldest);
  }

  private abort(arrival: Arrival): void {
    this.arriving.delete(arrival);
    this.release(arrival.holder);
    arrival.abort();
  }

  private sweep(): void {
    const nowMs = performance.now();
    for (const arrival of this.arriving) if (arrival.dueAtMs <= nowMs) this.abort(arrival);
    if (this.arriving.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }
}

/** The body memory of this process. */
export const bodyMemory = new BodyMemory(BODIES_BYTES_MAX);

const bodyTooLarge = (bytesMax: number) => tooLarge(`The body is larger than ${bytesMax} bytes`);

/**
 * Throws 413 above the limit (before reading, where the length is declared), 408 when it does not arrive in time
 * (or its client has gone), and 503 where the bodies of all requests take too much memory.
 */
export async function readBody(request: Request, holder: BodyHolder, bytesMax: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > bytesMax) throw bodyTooLarge(bytesMax);
  const aborted = Promise.withResolvers<never>();
  const arrival = bodyMemory.begin(holder, () => aborted.reject(notInTime()));
  const reading =
    declared <= SMALL_BODY_BYTES
      ? readSmall(request, holder, declared)
      : readLarge(request, arrival, bytesMax);
  try {
    return await Promise.race([reading, aborted.promise]);
  } catch (error) {
    throw error instanceof ServiceError ? error : notInTime(error);
  } finally {
    bodyMemory.end(arrival);
  }
}

const notInTime = (cause?: unknown) => requestTimeout('The body did not arrive in time', { cause });

async function readSmall(request: Request, holder: BodyHolder, size: number): Promise<Uint8Array> {
  bodyMemory.hold(holder, size);
  return request.bytes();
}

/** Collects a body that is large, or of undeclared length, as it arrives. */
async function readLarge(request: Request, arrival: Arrival, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    // Nothing is held for a body that has been given up.
    if (!bodyMemory.isArriving(arrival)) break;
    size += chunk.length;
    if (size > bytesMax) throw bodyTooLarge(bytesMax);
    bodyMemory.hold(arrival.holder, chunk.length);
    chunks.push(chunk);
    const lateMs = performance.now() - arrival.sinceMs - (size / BODY_BYTES_PER_SECOND_MIN) * 1000;
    arrival.dueAtMs = performance.now() + BODY_TIMEOUT_MS - Math.max(0, lateMs);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/**
 * As `readBody`, with gzip undone; the limit holds before and after. Throws 415 for other encodings, 413 for a body
 * that inflates to more than `INFLATION_RATIO_MAX` times its size, and ValidationFailure for what is not gzip.
 */
export async function readDecodedBody(
  request: Request,
  holder: BodyHolder,
  bytesMax: number,
): Promise<Uint8Array> {
  const bytes = await readBody(request, holder, bytesMax);
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === 'identity' || encoding === '') return bytes;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw unsupportedMediaType('The body may be encoded with gzip, and with nothing else');
  const inflatedMax = Math.max(INFLATED_BYTES_ALWAYS_TAKEN, bytes.length * INFLATION_RATIO_MAX);
  try {
    const inflated = await decompress(bytes, { maxOutputLength: Math.min(bytesMax, inflatedMax) });
    bodyMemory.hold(holder, inflated.length);
    return inflated;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (codeOf(error) !== 'ERR_BUFFER_TOO_LARGE')
      throw valueError(['body'], 'the body is not gzip, though its content-encoding says so', null);
    if (inflatedMax >= bytesMax) throw bodyTooLarge(bytesMax);
    throw tooLarge(`The body inflates to more than ${INFLATION_RATIO_MAX} times its size`);
  }
}
