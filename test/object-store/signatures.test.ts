import { describe, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, CREDENTIALS, createClient, errorOf, REGION, refusal, startTestStore } from './fixture.ts';

const OBJECT = { Bucket: BUCKET, Key: 'folder/ä b+c.txt' };
const MINUTE = 60_000;

const store = await shared(startTestStore());
await store.client.send(new PutObjectCommand({ ...OBJECT, Body: 'content', ContentType: 'text/html' }));

/** Changes one query parameter, or removes it. */
function tamper(url: string, name: string, value: string | undefined): string {
  const changed = new URL(url);
  if (value === undefined) changed.searchParams.delete(name);
  else changed.searchParams.set(name, value);
  return changed.href;
}

describe('a signed request', () => {
  test('under another secret, another access key or another region is refused', async () => {
    const get = new GetObjectCommand(OBJECT);
    const wrongSecret = createClient(store.endpoint, { secretAccessKey: 'wrong' });
    expect(await refusal(wrongSecret.send(get))).toEqual(['SignatureDoesNotMatch', 403]);
    const stranger = createClient(store.endpoint);
    stranger.config.credentials = async () => ({ ...CREDENTIALS, accessKeyId: 'stranger' });
    expect(await refusal(stranger.send(get))).toEqual(['InvalidAccessKeyId', 403]);
    const elsewhere = createClient(store.endpoint);
    elsewhere.config.region = async () => 'eu-west-1';
    expect(await refusal(elsewhere.send(get))).toEqual(['AuthorizationHeaderMalformed', 400]);
  });

  test('is good for fifteen minutes around its time', async () => {
    for (const skewMs of [-14 * MINUTE, 14 * MINUTE])
      await createClient(store.endpoint, { skewMs }).send(new HeadObjectCommand(OBJECT));
    for (const skewMs of [-16 * MINUTE, 16 * MINUTE]) {
      const skewed = createClient(store.endpoint, { skewMs }).send(new GetObjectCommand(OBJECT));
      expect(await refusal(skewed)).toEqual(['RequestTimeTooSkewed', 403]);
    }
  });

  test('is refused once its path, query, method or a header is altered', async () => {
    let captured: { headers: Record<string, string>; path: string } | undefined;
    const client = createClient(store.endpoint);
    client.middlewareStack.add(
      (next) => (args) => {
        const { headers, path } = args.request as { headers: Record<string, string>; path: string };
        captured = { headers: { ...headers }, path };
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
    await client.send(new GetObjectCommand(OBJECT));
    const { headers = {}, path = '' } = captured ?? {};
    const send = (target: string, change: RequestInit = {}) =>
      fetch(store.endpoint + target, { headers, ...change });
    expect((await send(`${path}?x-id=GetObject`)).status).toBe(200);
    const mismatch = ['SignatureDoesNotMatch', 403] as const;
    expect(await errorOf(await send(`${path}x?x-id=GetObject`))).toEqual([...mismatch]);
    expect(await errorOf(await send(`${path}?x-id=HeadObject`))).toEqual([...mismatch]);
    expect(await errorOf(await send(`${path}?x-id=GetObject`, { method: 'DELETE' }))).toEqual([...mismatch]);
    const altered = { ...headers, 'x-amz-checksum-mode': 'DISABLED' };
    expect(await errorOf(await send(`${path}?x-id=GetObject`, { headers: altered }))).toEqual([...mismatch]);
    const added = { ...headers, 'x-amz-copy-source': `${BUCKET}/other` };
    expect(await errorOf(await send(`${path}?x-id=GetObject`, { headers: added }))).toEqual([
      'AccessDenied',
      403,
    ]);
    expect(await store.text(OBJECT.Key)).toBe('content');
  });

  test.each([
    ['none', undefined, 'AccessDenied', 403],
    ['of Version 2', 'AWS key:signature', 'InvalidRequest', 400],
    ['cut short', 'AWS4-HMAC-SHA256 Credential=a', 'AuthorizationHeaderMalformed', 400],
  ])('needs a Version 4 signature: %s', async (_name, authorization, code, status) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const response = await fetch(`${store.endpoint}/${BUCKET}/x`, { headers });
    expect(response.headers.get('x-amz-request-id')).toMatch(/^[0-9A-F]{16}$/);
    expect(await errorOf(response)).toEqual([code, status]);
  });
});

describe('a pre-signed URL', () => {
  const sign = (expiresIn = 60, options: Record<string, unknown> = {}) =>
    getSignedUrl(store.client, new GetObjectCommand(OBJECT), { expiresIn, ...options });

  test('reads, without any header', async () => {
    const response = await fetch(await sign());
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(await response.text()).toBe('content');
  });

  test('may set the headers of its answer', async () => {
    const ResponseContentDisposition = "attachment; filename*=UTF-8''%C3%A4.txt";
    const command = new GetObjectCommand({
      ...OBJECT,
      ResponseContentDisposition,
      ResponseContentType: 'text/plain',
    });
    const response = await fetch(await getSignedUrl(store.client, command));
    expect(response.headers.get('content-disposition')).toBe(ResponseContentDisposition);
    expect(response.headers.get('content-type')).toBe('text/plain');
    const split = new GetObjectCommand({ ...OBJECT, ResponseContentType: 'a/b\r\nset-cookie: x=1' });
    expect(await errorOf(await fetch(await getSignedUrl(store.client, split)))).toEqual([
      'InvalidArgument',
      400,
    ]);
  });

  test('answers HEAD where it was signed for HEAD', async () => {
    const url = await getSignedUrl(store.client, new HeadObjectCommand(OBJECT));
    const response = await fetch(url, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe('7');
    expect((await fetch(await sign(), { method: 'HEAD' })).status).toBe(403);
  });

  test('writes where it was signed for PUT', async () => {
    const command = new PutObjectCommand({ Bucket: BUCKET, Key: 'put' });
    const url = await getSignedUrl(store.client, command);
    const response = await fetch(url, { method: 'PUT', body: 'put by URL' });
    expect(response.status).toBe(200);
    expect(await store.text('put')).toBe('put by URL');
    expect(await errorOf(await fetch(url))).toEqual(['SignatureDoesNotMatch', 403]);
  });

  test('ends when it says', async () => {
    const signedAt = (ageSeconds: number, expiresIn: number) =>
      sign(expiresIn, { signingDate: new Date(Date.now() - ageSeconds * 1000) });
    expect((await fetch(await signedAt(590, 600))).status).toBe(200);
    const expired = await fetch(await signedAt(601, 600));
    expect(expired.status).toBe(403);
    expect(await expired.text()).toContain('Request has expired');
    expect((await fetch(await signedAt(604_000, 604_800))).status).toBe(200);
    const future = await fetch(await signedAt(-16 * 60, 600));
    expect(await future.text()).toContain('not yet valid');
  });

  test.each([
    ['X-Amz-Expires', '6000', 'SignatureDoesNotMatch', 403],
    ['X-Amz-Expires', '604801', 'AuthorizationQueryParametersError', 400],
    ['X-Amz-Expires', '0', 'AuthorizationQueryParametersError', 400],
    ['X-Amz-Expires', '-1', 'AuthorizationQueryParametersError', 400],
    ['X-Amz-Expires', undefined, 'AuthorizationQueryParametersError', 400],
    ['X-Amz-Date', 'yesterday', 'AuthorizationQueryParametersError', 400],
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA1', 'AuthorizationQueryParametersError', 400],
    [
      'X-Amz-Credential',
      `${CREDENTIALS.accessKeyId}/20200101/us-east-1/s3/aws4_request`,
      'SignatureDoesNotMatch',
      403,
    ],
    ['X-Amz-SignedHeaders', 'date', 'AccessDenied', 403],
    ['X-Amz-Signature', '0'.repeat(64), 'SignatureDoesNotMatch', 403],
    ['X-Amz-Signature', '0', 'SignatureDoesNotMatch', 403],
    ['X-Amz-Signature', undefined, 'AuthorizationQueryParametersError', 400],
    ['response-content-type', 'text/evil', 'SignatureDoesNotMatch', 403],
    ['extra', '1', 'SignatureDoesNotMatch', 403],
  ])('is refused with %s = %p', async (name, value, code, status) => {
    expect(await errorOf(await fetch(tamper(await sign(), name, value)))).toEqual([code, status]);
  });

  test('is refused for another key, another host and beside an Authorization header', async () => {
    const url = await sign();
    const { pathname } = new URL(url);
    expect(await errorOf(await fetch(url.replace(pathname, `/${BUCKET}/other`)))).toEqual([
      'SignatureDoesNotMatch',
      403,
    ]);
    const otherHost = await fetch(url, { headers: { host: 'elsewhere.example' } });
    expect(await errorOf(otherHost)).toEqual(['SignatureDoesNotMatch', 403]);
    const both = await fetch(url, { headers: { authorization: 'AWS4-HMAC-SHA256 x' } });
    expect(await errorOf(both)).toEqual(['InvalidArgument', 400]);
  });

  test('may say a parameter several times: its values are signed in their order, however they are sent', async () => {
    const values = ['b', 'a', 'B', 'a/', 'ä', ''];
    const url = new URL(
      `${store.endpoint}/${BUCKET}/${encodeURIComponent(OBJECT.Key).replaceAll('%2F', '/')}`,
    );
    const timestamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = `${timestamp.slice(0, 8)}/${REGION}/s3/aws4_request`;
    const parameters: [string, string][] = [
      ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
      ['X-Amz-Credential', `${CREDENTIALS.accessKeyId}/${scope}`],
      ['X-Amz-Date', timestamp],
      ['X-Amz-Expires', '60'],
      ['X-Amz-SignedHeaders', 'host'],
      ...values.map((value): [string, string] => ['x-again', value]),
    ];
    const written = parameters.map((pair) => pair.map(encodeURIComponent).join('='));
    const canonical = [
      'GET',
      url.pathname,
      written.toSorted().join('&'),
      `host:${url.host}\n`,
      'host',
      'UNSIGNED-PAYLOAD',
    ];
    const hash = createHash('sha256').update(canonical.join('\n')).digest('hex');
    const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
    const steps = [timestamp.slice(0, 8), REGION, 's3', 'aws4_request'];
    const key = steps.reduce<string | Buffer>(hmac, `AWS4${CREDENTIALS.secretAccessKey}`);
    const signature = hmac(key, `AWS4-HMAC-SHA256\n${timestamp}\n${scope}\n${hash}`).toString('hex');
    for (const sent of [written, written.toReversed(), written.toSorted()]) {
      const response = await fetch(`${url.href}?${sent.join('&')}&X-Amz-Signature=${signature}`);
      expect([response.status, await response.text()]).toEqual([200, 'content']);
    }
  });

  test('survives a client that writes its query anew', async () => {
    const command = new GetObjectCommand({
      ...OBJECT,
      ResponseContentDisposition: 'attachment; filename="a b~*.txt"',
    });
    const url = new URL(await getSignedUrl(store.client, command));
    url.search = new URLSearchParams([...url.searchParams].toReversed()).toString();
    expect((await fetch(url)).status).toBe(200);
  });
});
