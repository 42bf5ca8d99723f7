// The operations on one object: GET, HEAD, PUT, copy, DELETE.
import type { Authentication } from './authentication.ts';
import { parseByteRange } from './byte-range.ts';
import { assertMayWrite, evaluateRead, isRangeCurrent, preconditionFailed } from './conditions.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { assertBucketName, assertKey } from './names.ts';
import { decodeHeaderText, parseAttributes, parseOverrides, renderAttributes } from './object-attributes.ts';
import type { ObjectName, Objects, StoredObject } from './objects.ts';
import { type Checksum, openPayload } from './payload.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';
import type { Signer } from './signature.ts';
import { element, renderDocument, S3_NAMESPACE } from './xml.ts';

interface ObjectOperationsOptions {
  readonly objects: Objects;
  readonly signer: Signer;
}

/** Each takes a request whose signature holds, and whose bucket and key are valid names. */
export function createObjectOperations({ objects, signer }: ObjectOperationsOptions) {
  return {
    getObject: (request: StoreRequest): Reply => {
      const object = objects.get(request, request.parameter('versionId'));
      const { reply, range } = renderRead(request, object);
      if (range === undefined) return reply;
      return { ...reply, file: { ...range, descriptor: objects.openContent(object) } };
    },

    headObject: (request: StoreRequest): Reply => {
      const { reply, range } = renderRead(request, objects.get(request, request.parameter('versionId')));
      if (range === undefined) return reply;
      return { ...reply, headers: { ...reply.headers, 'content-length': String(range.length) } };
    },

    putObject: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      objects.assertBucket(request.bucket);
      if (!request.headers.has('content-length') && !request.headers.has('transfer-encoding')) {
        throw new S3Error('MissingContentLength');
      }
      const attributes = parseAttributes(requestAttributes(request));
      const payload = openPayload(request, authentication, signer);
      let checksum: Checksum | undefined;
      const blob = await objects.receive({
        sizeBytesMax: limits.objectBytesMax,
        digests: payload.digests,
        fill: payload.send,
        check: (content) => {
          checksum = payload.verify(content.digests);
        },
      });
      const described = checksum === undefined ? attributes : { ...attributes, checksum };
      const object = await objects.put(request, blob, described, writeCondition(request));
      const headers = { etag: `"${object.etag}"`, ...renderVersion(object), ...renderChecksum(checksum) };
      return { status: 200, headers };
    },

    copyObject: async (request: StoreRequest): Promise<Reply> => {
      const source = parseCopySource(request.setting('x-amz-copy-source') ?? '');
      const directive = request.setting('x-amz-metadata-directive') ?? 'COPY';
      if (directive !== 'COPY' && directive !== 'REPLACE') {
        throw new S3Error('InvalidArgument', { message: 'Unknown metadata directive.' });
      }
      if (directive === 'COPY' && source.bucket === request.bucket && source.key === request.key) {
        throw new S3Error('InvalidRequest', {
          message:
            "This copy request is illegal because it copies an object to itself without changing the object's metadata.",
        });
      }
      const derive = (original: StoredObject) => {
        const condition = evaluateRead((name) => request.setting(`x-amz-copy-source-${name}`), original);
        if (condition !== 'proceed') throw preconditionFailed('x-amz-copy-source');
        if (directive === 'COPY') return original.attributes;
        const { checksum } = original.attributes;
        const replaced = parseAttributes(requestAttributes(request));
        return checksum === undefined ? replaced : { ...replaced, checksum };
      };
      const copy = await objects.copy(source, request, derive, writeCondition(request));
      const document = renderDocument(
        'CopyObjectResult',
        [element('LastModified', new Date(copy.modifiedMs).toISOString()), element('ETag', `"${copy.etag}"`)],
        S3_NAMESPACE,
      );
      return { status: 200, headers: renderVersion(copy), document };
    },

    deleteObject: async (request: StoreRequest): Promise<Reply> => {
      const version = request.parameter('versionId');
      const removal = { key: request.key, ...(version === undefined ? {} : { version }) };
      await objects.remove(request.bucket, [removal], writeCondition(request));
      return { status: 204, headers: renderVersion({ version }) };
    },
  };
}

function writeCondition(request: StoreRequest) {
  return (current: StoredObject | undefined) => assertMayWrite((name) => request.headers.get(name), current);
}

/** The head of an answer to GET or HEAD; `range` is the requested part of the content, undefined for none. */
function renderRead(request: StoreRequest, object: StoredObject) {
  const header = (name: string) => request.headers.get(name);
  const validators = {
    etag: `"${object.etag}"`,
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
    ...renderAttributes(object.attributes, parseOverrides(request.parameter)),
    ...validators,
    ...renderVersion(object),
    'accept-ranges': 'bytes',
    ...(range === undefined
      ? renderReadChecksum(request, object)
      : { 'content-range': `bytes ${start}-${start + length - 1}/${object.sizeBytes}` }),
  };
  return { reply: { status: range === undefined ? 200 : 206, headers }, range: { start, length } };
}

function renderReadChecksum(request: StoreRequest, object: StoredObject): Record<string, string> {
  const isWanted = request.setting('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED';
  return isWanted ? renderChecksum(object.attributes.checksum) : {};
}

export const renderVersion = ({ version }: Pick<StoredObject, 'version'>): Record<string, string> =>
  version === undefined ? {} : { 'x-amz-version-id': version };

function renderChecksum(checksum: Checksum | undefined): Record<string, string> {
  if (checksum === undefined) return {};
  return {
    [`x-amz-checksum-${checksum.algorithm}`]: checksum.value,
    'x-amz-checksum-type': 'FULL_OBJECT',
  };
}

/** Content headers and metadata of a PUT; of a pre-signed one, metadata may be in the query. */
function requestAttributes(request: StoreRequest): [string, string][] {
  const hoisted = request.query
    .filter(({ name }) => name.toLowerCase().startsWith('x-amz-meta-'))
    .map(({ name, value }): [string, string] => [name.toLowerCase(), value]);
  const sent = [...request.headers].map(([name, value]): [string, string] => [name, decodeHeaderText(value)]);
  return [...hoisted, ...sent];
}

/** `/bucket/key` or `bucket/key`, percent-encoded. */
function parseCopySource(copySource: string): ObjectName {
  const [encoded = '', version] = copySource.split('?', 2);
  if (version !== undefined) throw new S3Error('NotImplemented');
  let path: string;
  try {
    path = decodeURIComponent(encoded).replace(/^\//, '');
  } catch {
    throw new S3Error('InvalidArgument', { message: 'Copy Source must be URL-encoded UTF-8.' });
  }
  const slash = path.indexOf('/');
  if (slash < 1)
    throw new S3Error('InvalidArgument', { message: 'Copy Source must mention the source bucket and key.' });
  const source = { bucket: path.slice(0, slash), key: path.slice(slash + 1) };
  assertBucketName(source.bucket);
  assertKey(source.key);
  return source;
}
