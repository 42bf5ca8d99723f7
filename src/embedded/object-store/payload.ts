// The body of a signed request: decodes it while it streams, and then checks it against its declaration.

import { timingSafeEqual } from 'node:crypto';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Signer } from '../../infra/s3/signature-v4.ts';
import type { Authentication } from './authentication.ts';
import { type ChunkedDecoder, createChunkChain, createChunkedDecoder } from './aws-chunked.ts';
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm, type DigestAlgorithm } from './checksums.ts';
import { notImplemented, S3Error } from './errors.ts';
import type { StoreRequest } from './request.ts';
import { pumpBody } from './request-body.ts';

const TRAILER = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const SIGNED = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
const SIGNED_TRAILER = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER';

/** Throws where the announcement itself is not valid (InvalidDigest, an encoding that is not supported). */
export function openPayload(request: StoreRequest, authentication: Authentication, signer: Signer) {
  const encodings = (request.headers.get('content-encoding') ?? 'aws-chunked').split(',');
  if (encodings.some((encoding) => encoding.trim().toLowerCase() !== 'aws-chunked'))
    throw notImplemented('content-encoding');
  const decoder = createDecoder(request, authentication, signer);
  const expectMd5 = parseContentMd5(request.headers.get('content-md5'));
  const expectSha256 = /^[0-9a-f]{64}$/.test(authentication.payload) ? authentication.payload : undefined;
  const announced = findChecksum(request);
  const digests = new Set<DigestAlgorithm>(['md5']);
  if (expectSha256 !== undefined) digests.add('sha256');
  if (announced !== undefined) digests.add(announced.algorithm);
  return {
    /** The digests to compute while the content streams, for `verify`. */
    digests: [...digests],
    /** Sends the decoded content into the sink; resolves when the sink has finished. */
    send: async (sink: Writable) => {
      if (decoder === undefined) await pumpBody(request, sink);
      else await Promise.all([pumpBody(request, decoder.stream), pipeline(decoder.stream, sink)]);
    },
    /** Throws BadDigest and its like. After `send` only. */
    verify: (computed: ReadonlyMap<DigestAlgorithm, Buffer>) => {
      if (expectMd5 !== undefined && !isSame(expectMd5, computed.get('md5'))) throw new S3Error('BadDigest');
      if (expectSha256 !== undefined && !isSame(Buffer.from(expectSha256, 'hex'), computed.get('sha256')))
        throw new S3Error('XAmzContentSHA256Mismatch');
      if (announced === undefined) return;
      const name = `x-amz-checksum-${announced.algorithm}`;
      const value = announced.value ?? decoder?.trailers.get(name);
      if (value === undefined) throw new S3Error('InvalidRequest', `The trailer ${name} is missing.`);
      if (!isSame(Buffer.from(value, 'base64'), computed.get(announced.algorithm)))
        throw new S3Error(
          'BadDigest',
          `The ${announced.algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
        );
    },
  };
}

function createDecoder(
  request: StoreRequest,
  authentication: Authentication,
  signer: Signer,
): ChunkedDecoder | undefined {
  const { payload } = authentication;
  if (payload === 'UNSIGNED-PAYLOAD' || /^[0-9a-f]{64}$/.test(payload)) return undefined;
  if (payload !== TRAILER && payload !== SIGNED && payload !== SIGNED_TRAILER) {
    if (payload.startsWith('STREAMING-')) throw notImplemented(payload);
    throw new S3Error('InvalidArgument', 'The x-amz-content-sha256 is not valid.');
  }
  const decodedLength = request.headers.get('x-amz-decoded-content-length') ?? '';
  if (!/^\d{1,15}$/.test(decodedLength)) throw new S3Error('MissingContentLength');
  return createChunkedDecoder({
    decodedBytes: Number(decodedLength),
    hasTrailers: payload !== SIGNED,
    ...(payload === TRAILER ? {} : { chain: createChunkChain(authentication, signer) }),
  });
}

/** The checksum that a header gives, or whose value a trailer will give. */
function findChecksum(request: StoreRequest): { algorithm: ChecksumAlgorithm; value?: string } | undefined {
  const trailer = request.headers.get('x-amz-trailer')?.toLowerCase();
  if (trailer !== undefined && !CHECKSUM_ALGORITHMS.some((name) => trailer === `x-amz-checksum-${name}`))
    throw notImplemented(`the trailer ${trailer}`);
  const found = CHECKSUM_ALGORITHMS.flatMap((algorithm) => {
    const value = request.headers.get(`x-amz-checksum-${algorithm}`);
    if (value !== undefined) return [{ algorithm, value }];
    return trailer === `x-amz-checksum-${algorithm}` ? [{ algorithm }] : [];
  });
  if (found.length > 1) throw new S3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header.');
  return found[0];
}

function parseContentMd5(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined;
  const md5 = Buffer.from(header, 'base64');
  if (md5.length !== 16 || md5.toString('base64') !== header) throw new S3Error('InvalidDigest');
  return md5;
}

const isSame = (expected: Buffer, computed: Buffer | undefined): boolean =>
  computed !== undefined && expected.length === computed.length && timingSafeEqual(expected, computed);
