import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { BUCKET, countFiles, errorOf, refusal, startTestStore, type TestStore } from './fixture.ts';

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
    expect(await errorOf(await putChanged({ body: 'changed' }))).toEqual(['XAmzContentSHA256Mismatch', 400]);
    expect(await countFiles(store.directory)).toEqual(before);
    expect(await store.text('checked')).toBe('content');
  });

  test('that streams in the encoding aws-chunked is refused by name', async () => {
    const streamed = store.put('checked', Readable.from([Buffer.from('streamed')]), { ContentLength: 8 });
    expect(await refusal(streamed)).toEqual(['NotImplemented', 501]);
  });

  test('may be unsigned where the signature says so', async () => {
    const url = await getSignedUrl(store.client, new PutObjectCommand({ Bucket: BUCKET, Key: 'unsigned' }));
    expect((await fetch(url, { method: 'PUT', body: 'any' })).status).toBe(200);
    expect(await store.text('unsigned')).toBe('any');
  });
});
