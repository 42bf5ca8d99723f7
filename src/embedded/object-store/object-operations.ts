// The operations on one object: GET, HEAD, PUT, copy, DELETE.
import type { Signer } from '../../infra/s3/signature-v4.ts';
import type { Authentication } from './authentication.ts';
import { parseByteRange } from './byte-range.ts';
import { evaluateRead, isRangeCurrent, matches, preconditionFailed } from './conditions.ts';
import { contentTypeOf, renderContentHeaders } from './content-headers.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { assertBucketName, assertKey } from './names.ts';
import type { ObjectName, Objects } from './objects.ts';
import { openPayload } from './payload.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';
import type { StoredObject } from './stored-object.ts';
import { element, renderDocument, S3_NAMESPACE } from './xml.ts';

/** Each takes a request whose signature holds, whose bucket and key are valid names, and whose options it takes. */
export function createObjectOperations({ objects, signer }: { objects: Objects; signer: Signer }) {
  return {
    get: (request: StoreRequest): Reply => {
      const object = objects.get(request);
      const { reply, range } = renderRead(request, object);
      if (range === undefined) return reply;
      return { ...reply, file: { ...range, descriptor: objects.openContent(object) } };
    },

    head: (request: StoreRequest): Reply => {
      const { reply, range } = renderRead(request, objects.get(request));
      if (range === undefined) return reply;
      return { ...reply, headers: { ...reply.headers, 'content-length': String(range.length) } };
    },

    put: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      objects.assertBucket(request.bucket);
      if (!request.headers.has('content-length') && !request.headers.has('transfer-encoding'))
        throw new S3Error('MissingContentLength');
      const contentType = contentTypeOf(request);
      const payload = openPayload(request, authentication, signer);
      const blob = await objects.receive({
        sizeBytesMax: limits.objectBytesMax,
        digests: payload.digests,
        fill: payload.send,
        check: ({ digests }) => payload.verify(digests),
      });
      return { status: 200, headers: renderIdentity(await objects.put(request, blob, contentType)) };
    },

    /** Copies with a new content type, as the service does; a copy that keeps its source's is refused by name. */
    copy: async (request: StoreRequest): Promise<Reply> => {
      const name = parseCopySource(request.setting('x-amz-copy-source') ?? '');
      if (request.setting('x-amz-metadata-directive') !== 'REPLACE')
        throw notImplemented('x-amz-metadata-directive other than REPLACE');
      const ifMatch = request.setting('x-amz-copy-source-if-match');
      const copy = await objects.copy(name, request, {
        contentType: contentTypeOf(request),
        assertMeant: (source) => {
          if (ifMatch !== undefined && !matches(ifMatch, source.etag))
            throw preconditionFailed('x-amz-copy-source-if-match');
        },
      });
      const document = renderDocument(
        'CopyObjectResult',
        [element('LastModified', new Date(copy.modifiedMs).toISOString()), element('ETag', `"${copy.etag}"`)],
        S3_NAMESPACE,
      );
      return { status: 200, headers: renderVersion(copy), document };
    },

    remove: async (request: StoreRequest): Promise<Reply> => {
      const ifMatch = request.headers.get('if-match');
      const etag = ifMatch === undefined ? undefined : objects.get(request).etag;
      if (ifMatch !== undefined && etag !== undefined && !matches(ifMatch, etag))
        throw preconditionFailed('If-Match');
      // With the ETag that was seen: it may be replaced before it is removed.
      const kept = await objects.remove(request.bucket, [
        { key: request.key, ...(etag === undefined ? {} : { etag }) },
      ]);
      if (kept.length > 0) throw preconditionFailed('If-Match');
      return { status: 204 };
    },
  };
}

/** The head of an answer to GET or HEAD; `range` is the requested part of the content, undefined for none. */
function renderRead(request: StoreRequest, object: StoredObject) {
  const header = (name: string) => request.headers.get(name);
  const validators = {
    ...renderIdentity(object),
    'last-modified': new Date(object.modifiedMs).toUTCString(),
  };
  const condition = evaluateRead(header, object);
  if (condition === 'failed') throw preconditionFailed('If-Match');
  if (condition === 'not-modified') return { reply: { status: 304, headers: validators }, range: undefined };
  const range = isRangeCurrent(header('if-range'), object)
    ? parseByteRange(header('range'), object.sizeBytes)
    : undefined;
  const { start, length } = range ?? { start: 0, length: object.sizeBytes };
  const headers = {
    ...renderContentHeaders(request, object.contentType),
    ...validators,
    'accept-ranges': 'bytes',
    ...(range && { 'content-range': `bytes ${start}-${start + length - 1}/${object.sizeBytes}` }),
  };
  return { reply: { status: range === undefined ? 200 : 206, headers }, range: { start, length } };
}

const renderVersion = ({ version }: StoredObject): Record<string, string> =>
  version === undefined ? {} : { 'x-amz-version-id': version };

export const renderIdentity = (object: StoredObject): Record<string, string> => ({
  etag: `"${object.etag}"`,
  ...renderVersion(object),
});

/** `/bucket/key` or `bucket/key`, percent-encoded. */
function parseCopySource(copySource: string): ObjectName {
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
  const source = { bucket: path.slice(0, slash), key: path.slice(slash + 1) };
  assertBucketName(source.bucket);
  assertKey(source.key);
  return source;
}
