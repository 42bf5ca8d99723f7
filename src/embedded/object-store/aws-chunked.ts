// Decodes the aws-chunked encoding: chunks of content behind a line with their size, each signed or
// not, and after the last one trailers such as a checksum.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html

import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { toError } from '../../core/errors.ts';
import type { Signer } from '../../infra/s3/signature-v4.ts';
import type { Authentication } from './authentication.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { isSameSignature } from './signature.ts';

const EMPTY_SHA256 = createHash('sha256').digest('hex');
const CHUNK_LINE = /^([0-9a-fA-F]{1,13})(?:;chunk-signature=([0-9a-f]{64}))?$/;
const TRAILER_SIGNATURE = 'x-amz-trailer-signature';

interface ChunkedOptions {
  /** The declared length of the content (x-amz-decoded-content-length). */
  readonly decodedBytes: number;
  readonly hasTrailers: boolean;
  /** Where the chunks are signed: continues the chain that the request's own signature begins. */
  readonly chain?: ChunkChain;
}

type ChunkChain = ReturnType<typeof createChunkChain>;

/** Each signature covers the one before it, so that chunks can be neither altered, moved nor dropped. */
export function createChunkChain(authentication: Authentication, signer: Signer) {
  let previous = authentication.signature;
  function assertNext(kind: string, signature: string, rest: readonly string[]): void {
    const { timestamp, scope } = authentication;
    const text = [`AWS4-HMAC-SHA256-${kind}`, timestamp, scope.scope, previous, ...rest].join('\n');
    if (!isSameSignature(signature, signer.sign(scope.date, text)))
      throw new S3Error('SignatureDoesNotMatch');
    previous = signature;
  }
  return {
    assertChunk: (signature: string, sha256: string) =>
      assertNext('PAYLOAD', signature, [EMPTY_SHA256, sha256]),
    assertTrailers: (signature: string, trailers: string) =>
      assertNext('TRAILER', signature, [createHash('sha256').update(trailers).digest('hex')]),
  };
}

export type ChunkedDecoder = ReturnType<typeof createChunkedDecoder>;

type State = 'size' | 'content' | 'content-end' | 'trailers' | 'done';

/**
 * The stream takes the encoded body and gives the content; it fails with the S3Error to answer. The trailers, by
 * lower-case name, are complete once it has ended.
 */
export function createChunkedDecoder(options: ChunkedOptions) {
  const trailers = new Map<string, string>();
  let state: State = 'size';
  let line = '';
  let chunkLeft = 0;
  let decoded = 0;
  let chunkSignature = '';
  let hash = createHash('sha256');

  function onContent(content: Buffer): void {
    decoded += content.length;
    chunkLeft -= content.length;
    if (decoded > options.decodedBytes) throw new S3Error('IncompleteBody');
    if (options.chain !== undefined) hash.update(content);
    if (chunkLeft === 0) {
      finishChunk();
      state = 'content-end';
    }
  }

  function finishChunk(): void {
    options.chain?.assertChunk(chunkSignature, hash.digest('hex'));
    hash = createHash('sha256');
  }

  function onSizeLine(text: string): void {
    const [, size, signature] = CHUNK_LINE.exec(text) ?? [];
    if (size === undefined || (options.chain !== undefined && signature === undefined)) throw malformed();
    chunkLeft = Number.parseInt(size, 16);
    chunkSignature = signature ?? '';
    state = 'content';
    if (chunkLeft > 0) return;
    finishChunk();
    state = 'trailers';
  }

  function onTrailerLine(text: string): void {
    if (text === '') {
      finishTrailers();
      return;
    }
    const colon = text.indexOf(':');
    if (!options.hasTrailers || colon < 1 || trailers.size >= limits.chunkTrailersMax) throw malformed();
    trailers.set(text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim());
  }

  function finishTrailers(): void {
    state = 'done';
    if (decoded !== options.decodedBytes) throw new S3Error('IncompleteBody');
    if (options.chain === undefined || !options.hasTrailers) return;
    const signature = trailers.get(TRAILER_SIGNATURE) ?? '';
    const signed = [...trailers].filter(([name]) => name !== TRAILER_SIGNATURE);
    options.chain.assertTrailers(signature, signed.map(([name, value]) => `${name}:${value}\n`).join(''));
  }

  function onLine(text: string): void {
    if (state === 'size') onSizeLine(text);
    else if (state === 'trailers') onTrailerLine(text);
    else if (text === '') state = 'size';
    else throw malformed();
  }

  /** Answers how much of the buffer it took. */
  function take(buffer: Buffer, push: (content: Buffer) => void): number {
    if (state === 'done') throw malformed();
    if (state === 'content') {
      const content = buffer.subarray(0, chunkLeft);
      onContent(content);
      push(content);
      return content.length;
    }
    const end = buffer.indexOf(0x0a);
    line += buffer.toString('latin1', 0, end < 0 ? buffer.length : end);
    if (line.length > limits.chunkLineBytesMax) throw malformed();
    if (end < 0) return buffer.length;
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    line = '';
    onLine(text);
    return end + 1;
  }

  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        let rest = chunk;
        while (rest.length > 0) rest = rest.subarray(take(rest, (content) => this.push(content)));
        done();
      } catch (error) {
        done(toError(error));
      }
    },
    flush(done) {
      done(state === 'done' ? null : new S3Error('IncompleteBody'));
    },
  });
  return { stream, trailers };
}

const malformed = (): S3Error => new S3Error('InvalidRequest', 'The aws-chunked body is not well-formed.');
