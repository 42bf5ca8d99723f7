// A request's body, whole, but never more of it than an operation takes.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { requestTimeout, ServiceError, tooLarge, unsupportedMediaType, valueError } from '../core/errors.ts';
import { BODY_TIMEOUT_MS } from './limits.ts';

const decompress = promisify(gunzip);

/**
 * Throws 413 above the limit (before reading, where the length is declared), and 408 when it does not arrive in time
 * (or its client has gone, and nobody reads the answer).
 */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > bytesMax) throw bodyTooLarge(bytesMax);
  return inTime(Number.isNaN(declared) ? readBounded(request, bytesMax) : request.bytes());
}

/**
 * As `readBody`, with gzip undone; the limit holds before and after. Throws 415 for other encodings, and
 * ValidationFailure for what is not gzip.
 */
export async function readDecodedBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  const bytes = await readBody(request, bytesMax);
  if (encoding === 'identity' || encoding === '') return bytes;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw unsupportedMediaType('The body may be encoded with gzip, and with nothing else');
  }
  try {
    return await decompress(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(bytesMax);
    throw valueError(['body'], 'the body is not gzip, though its content-encoding says so', null);
  }
}

const bodyTooLarge = (bytesMax: number) => tooLarge(`The body is larger than ${bytesMax} bytes`);

async function inTime(body: Promise<Uint8Array>): Promise<Uint8Array> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const refusal = (cause?: unknown) => requestTimeout('The body did not arrive in time', { cause });
  const timer = setTimeout(() => reject(refusal()), BODY_TIMEOUT_MS);
  try {
    return await Promise.race([body, late]);
  } catch (error) {
    throw error instanceof ServiceError ? error : refusal(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A body of undeclared length: collected up to the limit, never beyond. */
async function readBounded(request: Request, bytesMax: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > bytesMax) throw bodyTooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
