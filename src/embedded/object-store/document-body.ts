// A request body that is a small document: read into memory, within a bound.

import { Writable } from 'node:stream';
import type { Signer } from '../../infra/s3/signature-v4.ts';
import type { Authentication } from './authentication.ts';
import { createDigest } from './checksums.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { openPayload } from './payload.ts';
import type { StoreRequest } from './request.ts';

/** Resolves with the text once its digests are found right. Throws MaxMessageLengthExceeded. */
export async function readDocument(
  request: StoreRequest,
  authentication: Authentication,
  signer: Signer,
): Promise<string> {
  const payload = openPayload(request, authentication, signer);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      chunks.push(chunk);
      done(sizeBytes > limits.documentBytesMax ? new S3Error('MaxMessageLengthExceeded') : null);
    },
  });
  await payload.send(sink);
  const document = Buffer.concat(chunks);
  const digests = payload.digests.map((algorithm) => {
    const digest = createDigest(algorithm);
    digest.update(document);
    return [algorithm, digest.finish()] as const;
  });
  payload.verify(new Map(digests));
  return document.toString('utf8');
}
