// Bodies that are compressed with gzip, for operations that accept them.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { tooLarge, unsupportedMediaType, valueError } from '../core/errors.ts';
import { bodyMemory, bodyTooLarge, readBody } from './body.ts';
import { INFLATED_BYTES_ALWAYS_TAKEN, INFLATION_RATIO_MAX } from './limits.ts';

const decompress = promisify(gunzip);

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
