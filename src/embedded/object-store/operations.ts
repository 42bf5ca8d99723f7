// The operations of signed requests, on objects and on the bucket. Each takes a request whose signature holds, whose bucket is the
// store's, whose key is valid, and whose options it takes.
import { DISK_FAULT_HEADER } from '../../core/disk-fault.ts';
import type { Authentication } from './authentication.ts';
import type { StoredObject } from './catalogue.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { parseListQuery, renderListing } from './listing.ts';
import type { Objects } from './objects.ts';
import { expectBody, readDocument } from './payload.ts';
import { evaluateConditions, findRange, matches, preconditionFailed } from './reads.ts';
import type { Reply } from './reply.ts';
import { assertKey, type StoreRequest } from './request.ts';
import { element, parseDeleteDocument, renderDocument, S3_NAMESPACE } from './xml.ts';

export function createOperations({ objects, region }: { objects: Objects; region: string }) {
  return {
    getObject: (request: StoreRequest): Reply => {
      const object = objects.get(request.key);
      const { reply, range } = renderRead(request, object);
      if (range === undefined) return reply;
      return { ...reply, file: { ...range, descriptor: objects.openContent(object) } };
    },

    headObject: (request: StoreRequest): Reply => {
      const { reply, range } = renderRead(request, objects.get(request.key));
      if (range === undefined) return reply;
      return { ...reply, headers: { ...reply.headers, 'content-length': String(range.length) } };
    },

    putObject: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      if (!request.headers.has('content-length') && !request.headers.has('transfer-encoding'))
        throw new S3Error('MissingContentLength');
      const type = contentTypeOf(request);
      await using upload = await objects.beginUpload({
        sizeBytesMax: limits.objectBytesMax,
        digests: expectBody(request, authentication),
      });
      await request.sendBody(upload.sink);
      return { status: 200, headers: renderIdentity(await objects.put(request.key, upload, type)) };
    },

    /** Copies with a new content type, as the service does; a copy that keeps its source's is refused by name. */
    copyObject: async (request: StoreRequest): Promise<Reply> => {
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

    deleteObject: async (request: StoreRequest): Promise<Reply> => {
      const ifMatch = request.headers.get('if-match');
      const etag = ifMatch === undefined ? undefined : objects.get(request.key).etag;
      if (ifMatch !== undefined && etag !== undefined && !matches(ifMatch, etag))
        throw preconditionFailed('If-Match');
      // With the ETag that was seen: it may be replaced before it is removed.
      const kept = await objects.remove([{ key: request.key, ...(etag === undefined ? {} : { etag }) }]);
      if (kept.length > 0) throw preconditionFailed('If-Match');
      return { status: 204 };
    },

    /** The store has its bucket from its start on. */
    createBucket: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      await readDocument(request, authentication);
      return { status: 200, headers: { location: `/${request.bucket}` } };
    },

    headBucket: async (): Promise<Reply> => {
      const fault = await objects.diskFault();
      const disk = fault === undefined ? {} : { [DISK_FAULT_HEADER]: fault };
      return { status: 200, headers: { 'x-amz-bucket-region': region, ...disk } };
    },

    listObjects: (request: StoreRequest): Reply => {
      const query = parseListQuery(request);
      return { status: 200, document: renderListing(request, query, objects.list(query)) };
    },

    deleteObjects: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      const { removals, isQuiet } = parseDeleteDocument(await readDocument(request, authentication));
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

/** The head of an answer to GET or HEAD; `range` is the requested part of the content, undefined for none. */
function renderRead(request: StoreRequest, object: StoredObject) {
  const header = (name: string) => request.headers.get(name);
  const validators = {
    ...renderIdentity(object),
    'last-modified': new Date(object.modifiedMs).toUTCString(),
  };
  const condition = evaluateConditions(header, object);
  if (condition === 'failed') throw preconditionFailed('If-Match');
  if (condition === 'not-modified') return { reply: { status: 304, headers: validators }, range: undefined };
  const range = findRange(header, object);
  const { start, length } = range ?? { start: 0, length: object.size };
  const headers = {
    ...renderContentHeaders(request, object.type),
    ...validators,
    'accept-ranges': 'bytes',
    ...(range && { 'content-range': `bytes ${start}-${start + length - 1}/${object.size}` }),
  };
  return { reply: { status: range === undefined ? 200 : 206, headers }, range: { start, length } };
}

export const renderIdentity = ({ etag, version }: StoredObject): Record<string, string> => ({
  etag: `"${etag}"`,
  'x-amz-version-id': version,
});

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

/** As S3 has it. */
const DEFAULT_CONTENT_TYPE = 'binary/octet-stream';
/** The `response-*` parameters of a GET. */
const OVERRIDES = ['content-disposition', 'content-type'] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a header can't carry them
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** The type to store; S3's own where there is none. Throws InvalidArgument where it can't be a header. */
export const parseContentType = (value: string | undefined): string =>
  value === undefined || value === '' ? DEFAULT_CONTENT_TYPE : assertHeader('content-type', value);

/** Header values have one character a byte; clients send UTF-8. */
function contentTypeOf(request: StoreRequest): string {
  const sent = request.headers.get('content-type');
  return parseContentType(sent && Buffer.from(sent, 'latin1').toString('utf8'));
}

/** For an answer with the object's content. Throws InvalidArgument where a parameter can't be a header. */
function renderContentHeaders(request: StoreRequest, contentType: string): Record<string, string> {
  const values: Record<string, string> = { 'content-type': contentType };
  for (const name of OVERRIDES) {
    const value = request.parameter(`response-${name}`);
    if (value !== undefined) values[name] = assertHeader(`response-${name}`, value);
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')]),
  );
}

function assertHeader(name: string, value: string): string {
  if (!CONTROL.test(value)) return value;
  throw new S3Error('InvalidArgument', `The value of ${name} can't be sent as a header.`);
}
