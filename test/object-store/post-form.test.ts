import { describe, expect, test } from 'bun:test';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { createPresignedPost } from '@aws-sdk/s3-presigned-post';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, CREDENTIALS, countFiles, errorOf, startTestStore } from './fixture.ts';
import {
  fourFieldForm,
  inSeconds,
  post,
  renderForm,
  supersetForm,
  toFormData,
  version4Form,
} from './form.ts';

const store = await shared(startTestStore());

describe('a form', () => {
  test.each([
    ['of the four fields of the interface', fourFieldForm],
    ['of Version 4', version4Form],
    ['of both versions', supersetForm],
  ])('%s uploads', async (_name, sign) => {
    const answer = await post(store, sign('temp/w/1'), 'by form');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('x-amz-request-id')).toBeString();
    expect(answer.headers.get('etag')).toBe((await store.head('temp/w/1')).ETag ?? '');
    expect(await store.text('temp/w/1')).toBe('by form');
  });

  test('of the SDK uploads, also several times', async () => {
    const { url, fields } = await createPresignedPost(store.client, {
      Bucket: BUCKET,
      Key: 'sdk',
      Conditions: [['content-length-range', 0, 10]],
    });
    for (const content of ['first', 'second']) {
      const answer = await fetch(url, { method: 'POST', body: toFormData(fields, content) });
      expect(answer.status).toBe(204);
      expect(await store.text('sdk')).toBe(content);
    }
  });

  test('is understood in any letter case, and in upper-case AWSAccessKeyId alone', async () => {
    const upper = Object.entries(fourFieldForm('case')).map(([name, value]) => [name.toUpperCase(), value]);
    expect((await post(store, Object.fromEntries(upper))).status).toBe(204);
    const { StorageAccessKeyId = '', ...others } = fourFieldForm('case');
    expect((await post(store, { ...others, AWSAccessKeyId: StorageAccessKeyId })).status).toBe(204);
  });

  test('may carry an empty file, or one that is no file to the browser', async () => {
    expect((await post(store, supersetForm('empty'), '')).status).toBe(204);
    expect((await store.head('empty')).ContentLength).toBe(0);
    const form = toFormData(supersetForm('text'), '');
    form.delete('file');
    form.append('FILE', 'plain text');
    const answer = await fetch(`${store.endpoint}/${BUCKET}/`, { method: 'POST', body: form });
    expect(answer.status).toBe(204);
    expect(await store.text('text')).toBe('plain text');
  });

  test('is read to the boundary, whatever the content looks like', async () => {
    const fields = supersetForm('tricky');
    const { head: before, tail, type } = renderForm(fields);
    const content = `\r\n--form-boundary\r\n--\r\n\r\n--form-boundary-7f3\r\nContent-Disposition: form-data; name="key"\r\n\r\n`;
    const headers = { 'content-type': type };
    const body = before + content + tail;
    expect((await fetch(`${store.endpoint}/${BUCKET}`, { method: 'POST', headers, body })).status).toBe(204);
    expect(await store.text('tricky')).toBe(content);
  });

  test('stores the type that its policy allows', async () => {
    const fields = { 'Content-Type': 'text/plain; charset="ä"' };
    const conditions = [['starts-with', '$Content-Type', 'text/']];
    expect((await post(store, version4Form('typed', { fields, conditions }))).status).toBe(204);
    const url = await getSignedUrl(store.client, new GetObjectCommand({ Bucket: BUCKET, Key: 'typed' }));
    const type = (await fetch(url)).headers.get('content-type') ?? '';
    expect(Buffer.from(type, 'latin1').toString()).toBe('text/plain; charset="ä"');
  });

  test('ignores what stands behind the file', async () => {
    const form = toFormData(supersetForm('behind'), 'the file');
    form.append('content-type', 'text/late');
    form.append('file', new File(['another file'], 'b'));
    form.append('key', 'x'.repeat(100_000));
    expect((await fetch(`${store.endpoint}/${BUCKET}`, { method: 'POST', body: form })).status).toBe(204);
    expect(await store.text('behind')).toBe('the file');
    expect((await store.head('behind')).ContentType).toBe('binary/octet-stream');
  });
});

const DENIED = ['AccessDenied', 403] as const;
const INVALID = ['InvalidArgument', 400] as const;
const MISMATCH = ['SignatureDoesNotMatch', 403] as const;
const TOO_LARGE = ['MaxPostPreDataLengthExceeded', 400] as const;
const UNKNOWN_KEY = ['InvalidAccessKeyId', 403] as const;

describe('a form is refused, and leaves nothing,', () => {
  const accessKeyId = 'someone-else';
  const secret = { secretAccessKey: 'x' };
  const anyType = [['starts-with', '$content-type', '']];
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-ignore-${index}`, '']));
  test.each<[why: string, fields: () => Record<string, string>, code: string, status: number]>([
    ['with a Version 4 signature of another secret', () => version4Form('k', secret), ...MISMATCH],
    ['with a Version 2 signature of another secret', () => fourFieldForm('k', secret), ...MISMATCH],
    [
      'when Version 4 is wrong, though Version 2 is right',
      () => ({ ...supersetForm('k'), 'x-amz-signature': '0'.repeat(64) }),
      ...MISMATCH,
    ],
    [
      'when Version 4 is given in part',
      () => ({ ...fourFieldForm('k'), 'x-amz-signature': '0' }),
      ...INVALID,
    ],
    [
      'with another access key',
      () => ({ ...fourFieldForm('k'), StorageAccessKeyId: accessKeyId }),
      ...UNKNOWN_KEY,
    ],
    [
      'with two access keys that differ',
      () => ({ ...fourFieldForm('k'), AWSAccessKeyId: accessKeyId }),
      ...UNKNOWN_KEY,
    ],
    [
      'with an altered policy',
      () => ({ ...version4Form('k'), policy: version4Form('other')['policy'] ?? '' }),
      ...MISMATCH,
    ],
    ['without policy and signature', () => ({ key: 'k' }), ...DENIED],
    ['with another key than was signed', () => ({ ...supersetForm('k'), key: 'other' }), ...DENIED],
    [
      'with another bucket than it is posted to',
      () => ({ ...supersetForm('k'), bucket: 'other' }),
      ...DENIED,
    ],
    ['once it has expired', () => supersetForm('k', { expiration: inSeconds(-1) }), ...DENIED],
    ['with a key of 1025 bytes', () => supersetForm('x'.repeat(1025)), 'KeyTooLongError', 400],
    ['with an empty key', () => supersetForm(''), ...INVALID],
    [
      'with a field that is no header',
      () => version4Form('k', { fields: { 'content-type': 'a\nb' }, conditions: anyType }),
      ...INVALID,
    ],
    [
      'with 20 KB of fields',
      () => ({ ...supersetForm('k'), 'x-ignore-a': 'x'.repeat(20_480) }),
      ...TOO_LARGE,
    ],
    ['with a hundred fields', () => ({ ...supersetForm('k'), ...many }), ...TOO_LARGE],
  ])('%s', async (_why, fields, code, status) => {
    const before = await countFiles(store.directory);
    expect(await errorOf(await post(store, fields()))).toEqual([code, status]);
    expect(await countFiles(store.directory)).toEqual(before);
  });

  const send = (body: string | FormData, type?: string) =>
    fetch(`${store.endpoint}/${BUCKET}`, {
      method: 'POST',
      body,
      ...(type === undefined ? {} : { headers: { 'content-type': type } }),
    });

  test('with a field given twice', async () => {
    const form = new FormData();
    form.append('Key', 'other');
    for (const [name, value] of toFormData(supersetForm('k'), 'x')) form.append(name, value);
    expect(await errorOf(await send(form))).toEqual(['InvalidArgument', 400]);
  });

  test('without a file, or when it is no form', async () => {
    const form = toFormData(supersetForm('k'), 'x');
    form.delete('file');
    expect(await errorOf(await send(form))).toEqual(['InvalidArgument', 400]);
    expect(await errorOf(await send('key=k', 'application/x-www-form-urlencoded'))).toEqual([
      'PreconditionFailed',
      412,
    ]);
    expect(await errorOf(await send('nothing', 'multipart/form-data'))).toEqual(['PreconditionFailed', 412]);
    expect(await errorOf(await send('nothing', 'multipart/form-data; boundary=x'))).toEqual([
      'MalformedPOSTRequest',
      400,
    ]);
  });

  test('without its last boundary', async () => {
    const before = await countFiles(store.directory);
    const { head: start, tail, type } = renderForm(supersetForm('cut'));
    for (const end of ['', tail.slice(0, -8), tail.slice(0, -4)])
      expect(await errorOf(await send(`${start}content${end}`, type))).toEqual(['MalformedPOSTRequest', 400]);
    expect(await countFiles(store.directory)).toEqual(before);
  });

  test('for a bucket that is not there', async () => {
    const { accessKeyId: StorageAccessKeyId } = CREDENTIALS;
    const body = toFormData({ ...fourFieldForm('k'), StorageAccessKeyId }, 'x');
    const answer = await fetch(`${store.endpoint}/absent`, { method: 'POST', body });
    expect(await errorOf(answer)).toEqual(['NoSuchBucket', 404]);
  });
});
