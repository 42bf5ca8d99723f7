import { describe, expect, test } from 'bun:test';
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, errorOf, startTestStore } from './fixture.ts';

const CONTENT = '0123456789';
const HOUR = 3_600_000;

const store = await shared(startTestStore());
await store.put('ten', CONTENT, { ContentType: 'text/plain' });
await store.put('none', '');
const url = await getSignedUrl(store.client, new GetObjectCommand({ Bucket: BUCKET, Key: 'ten' }));
const head = await store.head('ten');
const etag = head.ETag ?? '';
const modified = head.LastModified ?? new Date(0);

const get = (headers: Record<string, string>) => fetch(url, { headers });

describe('a range', () => {
  test.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=2-5', '2345', 'bytes 2-5/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=7-99', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', CONTENT, 'bytes 0-9/10'],
  ])('%s is sent as such', async (range, content, contentRange) => {
    const response = await get({ range });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(contentRange);
    expect(response.headers.get('content-length')).toBe(String(content.length));
    expect(await response.text()).toBe(content);
  });

  test.each(['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99-100'])(
    '%s outside the object is 416',
    async (range) => {
      const response = await get({ range });
      expect(response.headers.get('content-range')).toBe('bytes */10');
      expect(await errorOf(response)).toEqual(['InvalidRange', 416]);
    },
  );

  test.each(['bytes=5-2', 'bytes=-', 'bytes=a-b', 'bytes=0-1,3-4', 'lines=0-1', ''])(
    '%p, which is none, gives the whole object',
    async (range) => {
      const response = await get({ range });
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(CONTENT);
    },
  );

  test('of HEAD is told, not sent', async () => {
    const head = await store.client.send(
      new HeadObjectCommand({ Bucket: BUCKET, Key: 'ten', Range: 'bytes=2-5' }),
    );
    expect(head).toMatchObject({ ContentLength: 4, ContentRange: 'bytes 2-5/10' });
  });

  test('of an empty object is 416', async () => {
    const empty = await getSignedUrl(store.client, new GetObjectCommand({ Bucket: BUCKET, Key: 'none' }));
    expect((await fetch(empty, { headers: { range: 'bytes=0-' } })).status).toBe(416);
  });
});

describe('a condition', () => {
  const at = (offsetMs: number) => new Date(modified.getTime() + offsetMs).toUTCString();

  test('is judged as RFC 9110 says', async () => {
    const cases: [headers: Record<string, string>, status: number][] = [
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': '"other"' }, 412],
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"other", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"other"' }, 200],
      [{ 'if-modified-since': at(0) }, 304],
      [{ 'if-modified-since': at(-HOUR) }, 200],
      [{ 'if-modified-since': 'no date' }, 200],
      [{ 'if-unmodified-since': at(0) }, 200],
      [{ 'if-unmodified-since': at(-HOUR) }, 412],
      [{ 'if-match': etag, 'if-unmodified-since': at(-HOUR) }, 200],
      [{ 'if-none-match': '"other"', 'if-modified-since': at(HOUR) }, 200],
      [{ 'if-match': '"other"', 'if-none-match': etag }, 412],
    ];
    for (const [headers, status] of cases) {
      const response = await get(headers);
      expect([headers, response.status]).toEqual([headers, status]);
      if (status === 200) expect(await response.text()).toBe(CONTENT);
      if (status === 304) expect(response.headers.get('etag')).toBe(etag);
      if (status === 412) expect(await errorOf(response)).toEqual(['PreconditionFailed', 412]);
    }
  });

  test('on a range lets a download go on only with the same content', async () => {
    const range = 'bytes=5-';
    for (const ifRange of [etag, at(0)]) expect((await get({ range, 'if-range': ifRange })).status).toBe(206);
    for (const ifRange of ['"other"', `W/${etag}`, at(-HOUR), 'nonsense'])
      expect((await get({ range, 'if-range': ifRange })).status).toBe(200);
  });
});
