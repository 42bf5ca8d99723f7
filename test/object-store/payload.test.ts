import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import fc from 'fast-check';
import type { Authentication } from '../../src/embedded/object-store/authentication.ts';
import { createChunkChain, createChunkedDecoder } from '../../src/embedded/object-store/aws-chunked.ts';
import { CHECKSUM_ALGORITHMS, createDigest } from '../../src/embedded/object-store/checksums.ts';
import { createSigner } from '../../src/infra/s3/signature-v4.ts';
import {
  BUCKET,
  CREDENTIALS,
  countFiles,
  errorOf,
  REGION,
  refusal,
  startTestStore,
  type TestStore,
} from './fixture.ts';

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex');
const signer = createSigner({ ...CREDENTIALS, region: REGION });

describe('checksums', () => {
  test('have the values of their specifications', () => {
    const sums = CHECKSUM_ALGORITHMS.map((algorithm) => {
      const digest = createDigest(algorithm);
      digest.update(Buffer.from('1234'));
      digest.update(Buffer.from('56789'));
      return [algorithm, digest.finish().toString('hex')];
    });
    expect(Object.fromEntries(sums)).toEqual({ crc32: 'cbf43926', crc64nvme: 'ae8b14860a799888' });
  });
});

const SCOPE = {
  accessKeyId: 'a',
  date: '20300101',
  region: REGION,
  scope: `20300101/${REGION}/s3/aws4_request`,
};
const AUTHENTICATION: Authentication = {
  presigned: false,
  payload: '',
  timestamp: '20300101T000000Z',
  scope: SCOPE,
  signature: 'f'.repeat(64),
};

/** Encodes as a client does; the signatures are made from their definition. */
function encode(chunks: readonly Buffer[], options: { isSigned: boolean; trailer?: string }): Buffer {
  let previous = AUTHENTICATION.signature;
  const sign = (kind: string, rest: readonly string[]) => {
    const text = [`AWS4-HMAC-SHA256-${kind}`, AUTHENTICATION.timestamp, SCOPE.scope, previous, ...rest].join(
      '\n',
    );
    previous = signer.sign(SCOPE.date, text);
    return previous;
  };
  const parts = [...chunks, Buffer.alloc(0)].flatMap((chunk) => {
    const signature = options.isSigned
      ? `;chunk-signature=${sign('PAYLOAD', [sha256(''), sha256(chunk)])}`
      : '';
    const line = Buffer.from(`${chunk.length.toString(16)}${signature}\r\n`);
    return chunk.length === 0 ? [line] : [line, chunk, Buffer.from('\r\n')];
  });
  if (options.trailer !== undefined) {
    const trailer = `x-amz-checksum-crc32:${options.trailer}`;
    parts.push(Buffer.from(`${trailer}\r\n`));
    if (options.isSigned)
      parts.push(Buffer.from(`x-amz-trailer-signature:${sign('TRAILER', [sha256(`${trailer}\n`)])}\r\n`));
  }
  return Buffer.concat([...parts, Buffer.from('\r\n')]);
}

/** Decodes a body that arrives in pieces of the given sizes. */
async function decode(
  body: Buffer,
  options: { decodedBytes: number; isSigned: boolean; hasTrailers: boolean; pieces?: readonly number[] },
): Promise<{ content: Buffer; trailers: Record<string, string> }> {
  const chain = options.isSigned ? { chain: createChunkChain(AUTHENTICATION, signer) } : {};
  const decoder = createChunkedDecoder({ ...options, ...chain });
  const content: Buffer[] = [];
  const pieces: Buffer[] = [];
  let offset = 0;
  for (const size of [...(options.pieces ?? []), body.length]) {
    pieces.push(body.subarray(offset, offset + size));
    offset += size;
  }
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      content.push(Buffer.from(chunk));
      done();
    },
  });
  await pipeline(Readable.from(pieces.filter((piece) => piece.length > 0)), decoder.stream, sink);
  return { content: Buffer.concat(content), trailers: Object.fromEntries(decoder.trailers) };
}

describe('the aws-chunked encoding', () => {
  const chunk = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  const body = fc.record({
    chunks: fc.array(chunk, { maxLength: 5 }),
    isSigned: fc.boolean(),
    trailer: fc.option(fc.constant('AAAAAA=='), { nil: undefined }),
  });

  test('gives the content, wherever the network cuts it', async () => {
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.array(fc.integer({ min: 1, max: 30 })),
        async ({ chunks, isSigned, trailer }, pieces) => {
          const content = Buffer.concat(chunks);
          const encoded = encode(chunks, { isSigned, ...(trailer === undefined ? {} : { trailer }) });
          const options = {
            decodedBytes: content.length,
            isSigned,
            hasTrailers: trailer !== undefined,
            pieces,
          };
          const decoded = await decode(encoded, options);
          expect(decoded.content.equals(content)).toBe(true);
          expect(decoded.trailers['x-amz-checksum-crc32']).toBe(trailer);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('when signed, lets no byte be altered, added or cut off', async () => {
    const chunks = [Buffer.from('first chunk'), Buffer.from('second chunk')];
    const encoded = encode(chunks, { isSigned: true, trailer: 'AAAAAA==' });
    const options = { decodedBytes: 23, isSigned: true, hasTrailers: true };
    await fc.assert(
      fc.asyncProperty(
        fc.nat(encoded.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (position, change) => {
          const altered = Buffer.from(encoded);
          altered.writeUInt8((altered.readUInt8(position) ^ change) & 0xff, position);
          const isSame = await decode(altered, options).then(
            ({ content, trailers }) =>
              content.equals(Buffer.concat(chunks)) && trailers['x-amz-checksum-crc32'] === 'AAAAAA==',
            () => true,
          );
          expect(isSame).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
    for (const cut of [1, 3, 40, 120, encoded.length - 5])
      await expect(decode(encoded.subarray(0, -cut), options)).rejects.toThrow();
    await expect(decode(Buffer.concat([encoded, Buffer.from('x')]), options)).rejects.toThrow();
  });

  test.each([
    ['more than announced', 'a\r\n0123456789\r\n0\r\n\r\n', 9],
    ['less than announced', 'a\r\n0123456789\r\n0\r\n\r\n', 11],
    ['a size that is none', 'z\r\n', 0],
    ['an endless line', `${'0'.repeat(10_000)}`, 0],
    ['a chunk that goes on', '2\r\nabc\r\n0\r\n\r\n', 2],
    ['no end', '2\r\nab\r\n', 2],
  ])('with %s is refused', async (_what, text, decodedBytes) => {
    const options = { decodedBytes, isSigned: false, hasTrailers: true };
    await expect(decode(Buffer.from(text), options)).rejects.toThrow();
  });
});

describe('a body', () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await startTestStore();
  });
  afterAll(() => store[Symbol.asyncDispose]());

  const put = (content: string, options = {}) => store.put('checked', content, options);

  /** Sends a signed PUT whose body, or a header of it, was changed after signing. */
  async function putChanged(
    change: { body?: string; headers?: Record<string, string> },
    command = {},
  ): Promise<Response> {
    const url = `${store.endpoint}/${BUCKET}/checked`;
    let headers: Record<string, string> = {};
    const input = new PutObjectCommand({ Bucket: BUCKET, Key: 'checked', Body: 'content', ...command });
    input.middlewareStack.add(
      (next) => (args) => {
        const { request } = args;
        if (typeof request === 'object' && request !== null && 'headers' in request)
          headers = { ...(request.headers as Record<string, string>) };
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
    await store.client.send(input);
    return fetch(`${url}?x-id=PutObject`, {
      method: 'PUT',
      headers: { ...headers, ...change.headers },
      body: change.body ?? 'content',
    });
  }

  test('is verified against its Content-MD5', async () => {
    await put('content', { ContentMD5: createHash('md5').update('content').digest('base64') });
    const wrong = { ContentMD5: createHash('md5').update('other').digest('base64') };
    expect(await refusal(put('content', wrong))).toEqual(['BadDigest', 400]);
    expect(await refusal(put('content', { ContentMD5: 'bm90IGEgbWQ1' }))).toEqual(['InvalidDigest', 400]);
    expect(await refusal(put('content', { ContentMD5: '!' }))).toEqual(['InvalidDigest', 400]);
  });

  test('is verified against its signed hash, and its checksum', async () => {
    const before = await put('before').then(() => countFiles(store.directory));
    expect(await refusal(put('content', { ChecksumCRC32: 'AAAAAA==' }))).toEqual(['BadDigest', 400]);
    expect(await refusal(put('content', { ChecksumCRC64NVME: 'AAAAAAAAAAA=' }))).toEqual(['BadDigest', 400]);
    expect(await errorOf(await putChanged({ body: 'changed' }))).toEqual(['XAmzContentSHA256Mismatch', 400]);
    expect(await countFiles(store.directory)).toEqual(before);
    expect(await store.text('checked')).toBe('content');
  });

  test('that streams is verified against the checksum behind it', async () => {
    const text = 'streamed content';
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(text));
    const encoded = (content: string) =>
      encode([Buffer.from(content)], { isSigned: false, trailer: sum.toString('base64') }).toString();
    const body = Readable.from([Buffer.from(text)]);
    const stream = { Body: body, ContentLength: text.length };
    const good = await putChanged({ body: encoded(text) }, stream);
    expect(good.status).toBe(200);
    expect(await store.text('checked')).toBe(text);
    const again = { Body: Readable.from([Buffer.from(text)]), ContentLength: text.length };
    const bad = await putChanged({ body: encoded('streamed CONTENT') }, again);
    expect(await errorOf(bad)).toEqual(['BadDigest', 400]);
    expect(await store.text('checked')).toBe(text);
  });

  test('may be unsigned where the signature says so', async () => {
    const url = await getSignedUrl(store.client, new PutObjectCommand({ Bucket: BUCKET, Key: 'unsigned' }));
    expect((await fetch(url, { method: 'PUT', body: 'any' })).status).toBe(200);
    expect(await store.text('unsigned')).toBe('any');
  });
});
