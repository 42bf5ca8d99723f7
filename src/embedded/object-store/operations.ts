// The operations of signed requests, on objects and on the bucket. Each takes a request whose signature holds, whose bucket is the
// store's, whose key is valid, and whose options it takes. `payload`: what the signature says of the body.

import { DISK_FAULT_HEADER } from '../../core/disk-fault.ts';
import { encodeUriPath } from '../../infra/s3/signature-v4.ts';
import { expectBody, readDocument } from './digests.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { Objects } from './objects.ts';
import {
  matches,
  parseContentType,
  preconditionFailed,
  type Reply,
  renderIdentity,
  renderRead,
} from './reply.ts';
import { assertKey, type StoreRequest } from './request.ts';
import { element, parseDeleteDocument, renderDocument, S3_NAMESPACE } from './xml.ts';

/** Marks a continuation token as ours, and its format. */
const TOKEN = /^1\.([\w-]+)$/;

export function createOperations({ objects, region }: { objects: Objects; region: string }) {
  return {
    getObject(request: StoreRequest): Reply {
      const object = objects.get(request.key);
      const { reply, part } = renderRead(request, object);
      return part === undefined
        ? reply
        : { ...reply, file: { ...part, descriptor: objects.openContent(object) } };
    },

    headObject(request: StoreRequest): Reply {
      const { reply, part } = renderRead(request, objects.get(request.key));
      return part === undefined
        ? reply
        : { ...reply, headers: { ...reply.headers, 'content-length': `${part.length}` } };
    },

    async putObject(request: StoreRequest, payload: string): Promise<Reply> {
      if (!request.headers.has('content-length') && !request.headers.has('transfer-encoding'))
        throw new S3Error('MissingContentLength');
      const type = contentTypeOf(request);
      await using upload = await objects.beginUpload({
        sizeBytesMax: limits.objectBytesMax,
        digests: expectBody(request, payload),
      });
      for await (const chunk of request.body()) await upload.write(chunk);
      return { status: 200, headers: renderIdentity(await objects.put(request.key, upload, type)) };
    },

    /** Copies with a new content type, as the service does; a copy that keeps its source's is refused by name. */
    async copyObject(request: StoreRequest): Promise<Reply> {
      const source = parseCopySource(request.setting('x-amz-copy-source') ?? '', objects.bucket);
      if (request.setting('x-amz-metadata-directive') !== 'REPLACE')
        throw notImplemented('x-amz-metadata-directive other than REPLACE');
      const ifMatch = request.setting('x-amz-copy-source-if-match');
      const copy = await objects.copy(source, request.key, {
        type: contentTypeOf(request),
        meant: ({ etag }) => ifMatch === undefined || matches(ifMatch, etag),
      });
      if (copy === undefined) throw preconditionFailed('x-amz-copy-source-if-match');
      const document = renderDocument(
        'CopyObjectResult',
        [element('LastModified', new Date(copy.modifiedMs).toISOString()), element('ETag', `"${copy.etag}"`)],
        S3_NAMESPACE,
      );
      return { status: 200, headers: { 'x-amz-version-id': copy.version }, document };
    },

    async deleteObject(request: StoreRequest): Promise<Reply> {
      const ifMatch = request.headers.get('if-match');
      const etag = ifMatch === undefined ? undefined : objects.get(request.key).etag;
      if (ifMatch !== undefined && etag !== undefined && !matches(ifMatch, etag))
        throw preconditionFailed('If-Match');
      // With the ETag that was seen: the object may be replaced before it is removed.
      const kept = await objects.remove([{ key: request.key, ...(etag === undefined ? {} : { etag }) }]);
      if (kept.length > 0) throw preconditionFailed('If-Match');
      return { status: 204 };
    },

    /** The store has its bucket from its start on. */
    async createBucket(request: StoreRequest, payload: string): Promise<Reply> {
      await readDocument(request, payload);
      return { status: 200, headers: { location: `/${request.bucket}` } };
    },

    async headBucket(): Promise<Reply> {
      const fault = await objects.diskFault();
      const disk = fault === undefined ? {} : { [DISK_FAULT_HEADER]: fault };
      return { status: 200, headers: { 'x-amz-bucket-region': region, ...disk } };
    },

    /** ListObjectsV2: a page of the keys with a prefix, in the byte order of their UTF-8. */
    listObjects(request: StoreRequest): Reply {
      if (request.parameter('list-type') !== '2') throw notImplemented('GET bucket without list-type=2');
      const encoding = request.parameter('encoding-type');
      if (encoding !== undefined && encoding !== 'url')
        throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
      const prefix = request.parameter('prefix') ?? '';
      const token = request.parameter('continuation-token');
      const [, from = ''] = TOKEN.exec(token ?? '') ?? [];
      if (token !== undefined && from === '')
        throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect');
      const page = objects.list(prefix, Buffer.from(from, 'base64url'));
      const encode = (text: string) => (encoding === 'url' ? encodeUriPath(text) : text);
      const given = (name: string, value: string | undefined) =>
        value === undefined ? [] : [element(name, value)];
      const resume = page.resume && `1.${Buffer.from(page.resume).toString('base64url')}`;
      const contents = page.rows.map((row) =>
        element('Contents', [
          element('Key', encode(Buffer.from(row.key).toString('utf8'))),
          element('LastModified', new Date(row.modifiedMs).toISOString()),
          element('ETag', `"${row.etag}"`),
          element('Size', row.size),
          element('StorageClass', 'STANDARD'),
        ]),
      );
      const children = [
        element('Name', request.bucket),
        element('Prefix', encode(prefix)),
        ...given('EncodingType', encoding),
        ...given('ContinuationToken', token),
        element('KeyCount', page.rows.length),
        element('MaxKeys', limits.listKeysMax),
        element('IsTruncated', resume !== undefined),
        ...given('NextContinuationToken', resume),
        ...contents,
      ];
      return { status: 200, document: renderDocument('ListBucketResult', children, S3_NAMESPACE) };
    },

    async deleteObjects(request: StoreRequest, payload: string): Promise<Reply> {
      const { removals, isQuiet } = parseDeleteDocument(await readDocument(request, payload));
      const refused = new Set(await objects.remove(removals));
      const entries = removals.flatMap(({ key, version }) => {
        if (refused.has(key)) return [renderRefusal(key)];
        const names = version === undefined ? [] : [element('VersionId', version)];
        return isQuiet ? [] : [element('Deleted', [element('Key', key), ...names])];
      });
      return { status: 200, document: renderDocument('DeleteResult', entries, S3_NAMESPACE) };
    },
  };
}

function renderRefusal(key: string) {
  const { code, message } = new S3Error('PreconditionFailed');
  return element('Error', [element('Key', key), element('Code', code), element('Message', message)]);
}

/** The key in `/bucket/key` or `bucket/key`, percent-encoded. */
function parseCopySource(copySource: string, bucket: string): string {
  const [encoded = '', version] = copySource.split('?', 2);
  if (version !== undefined) throw notImplemented('a version in x-amz-copy-source');
  let path: string;
  try {
    path = decodeURIComponent(encoded).replace(/^\//, '');
  } catch {
    throw new S3Error('InvalidArgument', 'Copy Source must be URL-encoded UTF-8.');
  }
  const slash = path.indexOf('/');
  if (slash < 1) throw new S3Error('InvalidArgument', 'Copy Source must mention the source bucket and key.');
  if (path.slice(0, slash) !== bucket) throw new S3Error('NoSuchBucket');
  const key = path.slice(slash + 1);
  assertKey(key);
  return key;
}

/** Header values have one character a byte; clients send UTF-8. */
function contentTypeOf(request: StoreRequest): string {
  const sent = request.headers.get('content-type');
  return parseContentType(sent && Buffer.from(sent, 'latin1').toString('utf8'));
}
