// ListObjectsV2: its query parameters and the document it answers.
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { type ListPage, positionAfter } from './listing.ts';
import type { StoreRequest } from './request.ts';
import { encodeUriPath } from './uri.ts';
import { element, renderDocument, S3_NAMESPACE, type Xml } from './xml.ts';

/** Marks a continuation token as ours, and its format. */
const TOKEN_PREFIX = '1.';

interface ListQuery {
  readonly prefix: string;
  readonly delimiter: string;
  readonly from?: Uint8Array;
  readonly max: number;
}

/** Throws InvalidArgument; NotImplemented for the older ListObjects. */
export function parseListQuery(request: StoreRequest): ListQuery {
  if (request.parameter('list-type') !== '2') {
    throw new S3Error('NotImplemented', {
      message: 'Of the listings only ListObjectsV2 (list-type=2) is there.',
    });
  }
  const maxKeys = request.parameter('max-keys') ?? String(limits.listKeysMax);
  if (!/^\d{1,10}$/.test(maxKeys)) {
    throw new S3Error('InvalidArgument', {
      message: 'Argument max-keys must be an integer between 0 and 2147483647',
    });
  }
  if (![undefined, 'url'].includes(request.parameter('encoding-type'))) {
    throw new S3Error('InvalidArgument', { message: 'Invalid Encoding Method specified in Request' });
  }
  const folding = {
    prefix: request.parameter('prefix') ?? '',
    delimiter: request.parameter('delimiter') ?? '',
  };
  const from = parseStart(request, folding);
  return {
    ...folding,
    max: Math.min(Number(maxKeys), limits.listKeysMax),
    ...(from === undefined ? {} : { from }),
  };
}

/** A continuation token holds the position where its page begins. */
function parseStart(
  request: StoreRequest,
  folding: { prefix: string; delimiter: string },
): Uint8Array | undefined {
  const token = request.parameter('continuation-token');
  const startAfter = request.parameter('start-after');
  if (token === undefined) return startAfter === undefined ? undefined : positionAfter(startAfter, folding);
  if (!token.startsWith(TOKEN_PREFIX) || !/^[\w-]+$/.test(token.slice(TOKEN_PREFIX.length))) {
    throw new S3Error('InvalidArgument', { message: 'The continuation token provided is incorrect' });
  }
  return Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url');
}

export function renderListing(request: StoreRequest, query: ListQuery, page: ListPage): string {
  const isUrlEncoded = request.parameter('encoding-type') === 'url';
  const encode = (text: string) => (isUrlEncoded ? encodeUriPath(text) : text);
  const given = (name: string, value: string | undefined): Xml[] =>
    value === undefined ? [] : [element(name, value)];
  const contents = page.rows.map((row) =>
    element('Contents', [
      element('Key', encode(Buffer.from(row.key).toString('utf8'))),
      element('LastModified', new Date(row.modified_ms).toISOString()),
      element('ETag', `"${row.etag}"`),
      element('Size', row.size),
      element('StorageClass', 'STANDARD'),
    ]),
  );
  const prefixes = page.commonPrefixes.map((prefix) =>
    element('CommonPrefixes', [element('Prefix', encode(prefix.toString('utf8')))]),
  );
  const startAfter = request.parameter('start-after');
  const resume = page.resume && TOKEN_PREFIX + page.resume.toString('base64url');
  const children = [
    element('Name', request.bucket),
    element('Prefix', encode(query.prefix)),
    ...(query.delimiter === '' ? [] : [element('Delimiter', encode(query.delimiter))]),
    ...given('StartAfter', startAfter === undefined ? undefined : encode(startAfter)),
    ...given('EncodingType', request.parameter('encoding-type')),
    ...given('ContinuationToken', request.parameter('continuation-token')),
    element('KeyCount', page.rows.length + page.commonPrefixes.length),
    element('MaxKeys', query.max),
    element('IsTruncated', resume !== undefined),
    ...given('NextContinuationToken', resume),
    ...contents,
    ...prefixes,
  ];
  return renderDocument('ListBucketResult', children, S3_NAMESPACE);
}
