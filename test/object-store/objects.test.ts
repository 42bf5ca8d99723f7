import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { shared } from '../support/shared.ts';
import { BUCKET, countFiles, refusal, startTestStore } from './fixture.ts';

const store = await shared(startTestStore());

describe('buckets', () => {
  test('creating one twice is no error, and it keeps its objects', async () => {
    await store.put('kept', 'x');
    await store.client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    expect(await store.text('kept')).toBe('x');
    await store.client.send(new HeadBucketCommand({ Bucket: BUCKET }));
  });

  test('one that is absent answers 404', async () => {
    expect(await refusal(store.client.send(new HeadBucketCommand({ Bucket: 'absent' })))).toEqual([
      'NotFound',
      404,
    ]);
    const inAbsent = { Bucket: 'absent', Key: 'k' };
    expect(await refusal(store.client.send(new GetObjectCommand(inAbsent)))).toEqual(['NoSuchBucket', 404]);
    expect(await refusal(store.client.send(new PutObjectCommand({ ...inAbsent, Body: 'x' })))).toEqual([
      'NoSuchBucket',
      404,
    ]);
  });
});

describe('an object', () => {
  test('comes back with its bytes, ETag, size and type', async () => {
    const body = crypto.getRandomValues(new Uint8Array(300_000));
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const ContentType = 'text/plain; charset=utf-8';
    expect((await store.put('whole', body, { ContentType })).ETag).toBe(etag);
    const got = await store.get('whole');
    expect(got).toMatchObject({ ContentType, ETag: etag, ContentLength: body.length, AcceptRanges: 'bytes' });
    expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(body)).toBe(true);
    const head = await store.head('whole');
    expect(head).toMatchObject({ ContentType, ETag: etag, ContentLength: body.length });
    expect(head.LastModified?.getTime()).toBe(got.LastModified?.getTime());
  });

  test('may be empty', async () => {
    await store.put('empty', '');
    expect(await store.text('empty')).toBe('');
  });

  test('may come with a CRC32', async () => {
    await store.put('summed', 'some content', { ChecksumAlgorithm: 'CRC32' });
    expect(await store.text('summed')).toBe('some content');
  });

  test('that does not exist answers 404', async () => {
    const absent = { Bucket: BUCKET, Key: 'absent' };
    expect(await refusal(store.client.send(new GetObjectCommand(absent)))).toEqual(['NoSuchKey', 404]);
    expect(await refusal(store.client.send(new HeadObjectCommand(absent)))).toEqual(['NotFound', 404]);
  });

  test('is replaced as a whole, and only the new bytes are kept', async () => {
    await store.put('replaced', 'first', { ContentType: 'text/first' });
    const before = await countFiles(store.directory);
    await store.put('replaced', 'second');
    expect(await store.text('replaced')).toBe('second');
    const head = await store.head('replaced');
    expect(head.ContentType).toBe('application/octet-stream');
    expect(await countFiles(store.directory)).toEqual(before);
  });

  test('has a key of at most 1024 bytes', async () => {
    await store.put('é'.repeat(512), 'x');
    expect(await store.text('é'.repeat(512))).toBe('x');
    expect(await refusal(store.put(`${'é'.repeat(512)}a`, 'x'))).toEqual(['KeyTooLongError', 400]);
  });
});

describe('a copy', () => {
  test('has the content and the ETag of its source, a type of its own, and outlives it', async () => {
    const { ETag } = await store.put('temp/é + x', 'content', { ContentType: 'text/x' });
    const result = await store.copy('temp/é + x', 'final/copy', { ContentType: 'text/y' });
    expect(result.CopyObjectResult?.ETag).toBe(ETag);
    await store.remove('temp/é + x');
    const got = await store.get('final/copy');
    expect(got).toMatchObject({ ContentType: 'text/y', ETag });
    expect(await got.Body?.transformToString()).toBe('content');
  });

  test('takes no room, and the bytes go with the last name', async () => {
    await store.put('shared-1', 'content');
    const before = await countFiles(store.directory);
    await store.copy('shared-1', 'shared-2');
    expect(await countFiles(store.directory)).toEqual(before);
    await store.put('shared-1', 'other');
    expect(await store.text('shared-2')).toBe('content');
    await store.remove('shared-2');
    expect(await countFiles(store.directory)).toEqual(before);
  });

  test('is made only of the content that the client has seen', async () => {
    const { ETag } = await store.put('seen', 'one');
    await store.put('seen', 'two');
    expect(await refusal(store.copy('seen', 'seen-copy', { CopySourceIfMatch: ETag }))).toEqual([
      'PreconditionFailed',
      412,
    ]);
    expect(await refusal(store.get('seen-copy'))).toEqual(['NoSuchKey', 404]);
    const head = await store.head('seen');
    await store.copy('seen', 'seen-copy', { CopySourceIfMatch: head.ETag });
  });

  test('may replace the type in place', async () => {
    await store.put('in-place', 'x', { ContentType: 'text/old' });
    await store.copy('in-place', 'in-place', { ContentType: 'text/new' });
    const head = await store.head('in-place');
    expect(head).toMatchObject({ ContentType: 'text/new' });
    expect(await store.text('in-place')).toBe('x');
  });

  test('of nothing answers 404', async () => {
    expect(await refusal(store.copy('absent', 'copy'))).toEqual(['NoSuchKey', 404]);
  });
});

describe('deleting', () => {
  test('is no error where there is nothing', async () => {
    const absent = { Bucket: BUCKET, Key: 'absent' };
    const { $metadata } = await store.client.send(new DeleteObjectCommand(absent));
    expect($metadata.httpStatusCode).toBe(204);
  });

  test('may ask for the content that the client has seen', async () => {
    const { ETag } = await store.put('deleted', 'one');
    await store.put('deleted', 'two');
    const unchanged = { Bucket: BUCKET, Key: 'deleted', IfMatch: ETag };
    const refused = await refusal(store.client.send(new DeleteObjectCommand(unchanged)));
    expect(refused).toEqual(['PreconditionFailed', 412]);
    expect(await store.text('deleted')).toBe('two');
    await store.put('deleted', 'one');
    await store.client.send(new DeleteObjectCommand(unchanged));
    const gone = await refusal(store.client.send(new DeleteObjectCommand(unchanged)));
    expect(gone).toEqual(['NoSuchKey', 404]);
  });

  test('takes many keys in one request, whatever characters they have', async () => {
    const keys = ['many/<&>"\'', ' many ', 'many/\r\n', 'many/]]>', 'many/&amp;', '../many', 'many/é\u0301'];
    for (const key of keys) await store.put(key, 'x');
    const { Deleted } = await store.client.send(
      new DeleteObjectsCommand({
        Bucket: BUCKET,
        Delete: { Objects: [...keys, 'absent'].map((Key) => ({ Key })) },
      }),
    );
    expect(Deleted?.map(({ Key }) => Key)).toEqual([...keys, 'absent']);
    for (const Key of keys) expect(await refusal(store.get(Key))).toEqual(['NoSuchKey', 404]);
    const quiet = await store.client.send(
      new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects: [{ Key: 'a' }], Quiet: true } }),
    );
    expect(quiet.Deleted).toBeUndefined();
  });

  test('takes at most 1000 keys', async () => {
    const Objects = Array.from({ length: 1001 }, (_, index) => ({ Key: `k${index}` }));
    expect(
      await refusal(store.client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }))),
    ).toEqual(['MalformedXML', 400]);
  });
});
