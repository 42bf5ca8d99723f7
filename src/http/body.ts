// Reads the whole body of a request, up to the limit of its operation.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { createDeadlines } from '../core/deadlines.ts';
import { requestTimeout, ServiceError, tooLarge, unsupportedMediaType, valueError } from '../core/errors.ts';
import { bodyMemory } from './body-memory.ts';
import {
  BODY_BYTES_PER_SECOND_MIN,
  BODY_TIMEOUT_MS,
  INFLATED_BYTES_ALWAYS_TAKEN,
  INFLATION_RATIO_MAX,
  SMALL_BODY_BYTES,
} from './limits.ts';

const decompress = promisify(gunzip);

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

/**
 * As `readBody`, with gzip undone; the limit holds before and after. Throws 415 for other encodings, 413 for a body
 * that inflates to more than `INFLATION_RATIO_MAX` times its size, and ValidationFailure for what is not gzip.
 */
export function readDecodedBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-encoding');
  return declared === null ? readBody(request, bytesMax) : readEncodedBody(request, declared, bytesMax);
}

async function readEncodedBody(request: Request, declared: string, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readBody(request, bytesMax);
  const encoding = declared.trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return bytes;
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw unsupportedMediaType('The body may be encoded with gzip, and with nothing else');
  const inflatedMax = Math.max(INFLATED_BYTES_ALWAYS_TAKEN, bytes.length * INFLATION_RATIO_MAX);
  let inflated: Uint8Array;
  try {
    inflated = await decompress(bytes, { maxOutputLength: Math.min(bytesMax, inflatedMax) });
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'ERR_BUFFER_TOO_LARGE')
      throw valueError(['body'], 'the body is not gzip, though its content-encoding says so', null);
    if (inflatedMax >= bytesMax) throw bodyTooLarge(bytesMax);
    throw tooLarge(`The body inflates to more than ${INFLATION_RATIO_MAX} times its size`);
  }
  bodyMemory.hold(request, inflated.length);
  return inflated;
}

const bodyTooLarge = (bytesMax: number) => tooLarge(`The body is larger than ${bytesMax} bytes`);

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
