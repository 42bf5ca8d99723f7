// What nothing that uses the embedded store needs is refused by its name, instead of being left out in silence.

import { describe, expect, test } from 'bun:test';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetBucketLocationCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  ListObjectVersionsCommand,
  PutObjectAclCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, countFiles, refusal, startTestStore, type TestStore } from './fixture.ts';
import { post, version4Form } from './form.ts';

const store = await shared(startTestStore());
await store.put('k', 'kept');

const NAME = { Bucket: BUCKET, Key: 'k' };
const put = (options: Parameters<TestStore['put']>[2]) => () => store.put('k', 'x', options);
const copy = (options: Parameters<TestStore['copy']>[2]) => () => store.copy('k', 'k', options);
const list = (options: Partial<ListObjectsV2CommandInput>) => (client: S3Client) =>
  client.send(new ListObjectsV2Command({ Bucket: BUCKET, ...options }));
const date = new Date();

describe('an operation or an option that the store does not have', () => {
  test.each<[name: string, send: (client: S3Client) => Promise<unknown>]>([
    ['GET service', (client) => client.send(new ListBucketsCommand())],
    ['DELETE bucket', (client) => client.send(new DeleteBucketCommand({ Bucket: BUCKET }))],
    ['location', (client) => client.send(new GetBucketLocationCommand({ Bucket: BUCKET }))],
    ['versions', (client) => client.send(new ListObjectVersionsCommand({ Bucket: BUCKET }))],
    ['x-amz-acl', (client) => client.send(new CreateBucketCommand({ Bucket: BUCKET, ACL: 'private' }))],
    ['GET bucket without list-type=2', (client) => client.send(new ListObjectsCommand({ Bucket: BUCKET }))],
    ['delimiter', list({ Delimiter: '/' })],
    ['start-after', list({ StartAfter: 'a' })],
    ['max-keys', list({ MaxKeys: 1 })],
    ['fetch-owner', list({ FetchOwner: true })],
    ['uploads', (client) => client.send(new CreateMultipartUploadCommand(NAME))],
    ['partnumber', (client) => client.send(new UploadPartCommand({ ...NAME, PartNumber: 1, UploadId: 'u' }))],
    ['acl', (client) => client.send(new PutObjectAclCommand({ ...NAME, ACL: 'private' }))],
    ['tagging', (client) => client.send(new GetObjectTaggingCommand(NAME))],
    [
      'attributes',
      (client) => client.send(new GetObjectAttributesCommand({ ...NAME, ObjectAttributes: ['ObjectSize'] })),
    ],
    ['versionid', (client) => client.send(new GetObjectCommand({ ...NAME, VersionId: 'v' }))],
    ['versionid', (client) => client.send(new DeleteObjectCommand({ ...NAME, VersionId: 'v' }))],
    ['response-expires', (client) => client.send(new GetObjectCommand({ ...NAME, ResponseExpires: date }))],
    [
      'x-amz-expected-bucket-owner',
      (client) => client.send(new GetObjectCommand({ ...NAME, ExpectedBucketOwner: '1' })),
    ],
    ['if-match', put({ IfMatch: '"a"' })],
    ['if-none-match', put({ IfNoneMatch: '*' })],
    ['cache-control', put({ CacheControl: 'no-store' })],
    ['content-disposition', put({ ContentDisposition: 'inline' })],
    ['content-encoding', put({ ContentEncoding: 'gzip' })],
    ['content-language', put({ ContentLanguage: 'en' })],
    ['expires', put({ Expires: date })],
    ['x-amz-meta-a', put({ Metadata: { a: 'b' } })],
    ['x-amz-acl', put({ ACL: 'public-read' })],
    ['x-amz-storage-class', put({ StorageClass: 'GLACIER' })],
    ['x-amz-tagging', put({ Tagging: 'a=b' })],
    ['x-amz-server-side-encryption', put({ ServerSideEncryption: 'AES256' })],
    ['x-amz-checksum-crc64nvme', put({ ChecksumCRC64NVME: 'AAAAAAAAAAA=' })],
    ['x-amz-checksum-crc32c', put({ ChecksumCRC32C: 'AAAAAA==' })],
    ['x-amz-checksum-sha1', put({ ChecksumSHA1: 'AAAA' })],
    ['x-amz-checksum-sha256', put({ ChecksumSHA256: 'AAAA' })],
    ['x-amz-metadata-directive other than REPLACE', copy({ MetadataDirective: 'COPY' })],
    ['x-amz-metadata-directive other than REPLACE', copy({ MetadataDirective: undefined })],
    ['x-amz-meta-a', copy({ Metadata: { a: 'b' } })],
    ['x-amz-copy-source-if-none-match', copy({ CopySourceIfNoneMatch: '"a"' })],
    ['x-amz-copy-source-if-modified-since', copy({ CopySourceIfModifiedSince: date })],
    ['a version in x-amz-copy-source', copy({ CopySource: `${BUCKET}/k?versionId=v` })],
  ])('%s is refused with that name', async (name, send) => {
    const sent = send(store.client);
    expect(await refusal(sent)).toEqual(['NotImplemented', 501]);
    expect(await sent.catch((error: Error) => error.message)).toBe(
      `The embedded object store does not implement: ${name}`,
    );
    expect(await store.text('k')).toBe('kept');
  });

  test('is refused in a pre-signed URL as well', async () => {
    const command = new PutObjectCommand({ ...NAME, Metadata: { a: 'b' } });
    const answer = await fetch(await getSignedUrl(store.client, command), { method: 'PUT', body: 'x' });
    expect(answer.status).toBe(501);
    expect(await answer.text()).toContain('does not implement: x-amz-meta-a');
    const head = new HeadObjectCommand({ ...NAME, PartNumber: 1 });
    expect((await fetch(await getSignedUrl(store.client, head), { method: 'HEAD' })).status).toBe(501);
  });
});

describe('a form', () => {
  test.each([
    'success_action_status',
    'success_action_redirect',
    'acl',
    'cache-control',
    'x-amz-meta-a',
    'tagging',
  ])('with the field %s is refused with that name, also where its policy allows it', async (name) => {
    const before = await countFiles(store.directory);
    const fields = version4Form('k', { fields: { [name]: '201' }, conditions: [{ [name]: '201' }] });
    const answer = await post(store, fields);
    expect(answer.status).toBe(501);
    expect(await answer.text()).toContain(`does not implement: the form field ${name}`);
    expect(await countFiles(store.directory)).toEqual(before);
  });

  test('does not take the name of its file into its key', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the protocol's own variable
    const answer = await post(store, version4Form('user/${filename}'));
    expect(answer.status).toBe(501);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the protocol's own variable
    expect(await answer.text()).toContain('does not implement: ${filename}');
  });
});
