// ListObjectsV2: its query parameters, its pages, and the document it answers. Keys are in the byte order of their UTF-8.
import { encodeUriPath } from '../../infra/s3/signature-v4.ts';
import type { ListedRow } from './catalogue.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';
import { element, renderDocument, S3_NAMESPACE, type Xml } from './xml.ts';

/** Marks a continuation token as ours, and its format. */
const TOKEN_PREFIX = '1.';
/** Above every key: 0xff occurs in no UTF-8 text. */
const ABOVE_ALL = Buffer.of(0xff);

export interface ListQuery {
  readonly prefix: string;
  /** Where the page begins: `resume` of the previous one. */
  readonly from?: Uint8Array;
}

export interface ListPage {
  readonly rows: readonly ListedRow[];
  /** Where the next page begins; undefined on the last one. */
  readonly resume: Uint8Array | undefined;
}

/** Reads at most `limit` rows of [from, below), in order. */
type ReadRange = (range: { from: Uint8Array; below: Uint8Array; limit: number }) => ListedRow[];

/** Up to `max` rows, from one range of the index. */
export function readPage(read: ReadRange, query: ListQuery, max: number): ListPage {
  const prefix = Buffer.from(query.prefix);
  const { from = prefix } = query;
  const rows = read({
    from: Buffer.compare(from, prefix) < 0 ? prefix : from,
    below: afterAllBelow(prefix),
    limit: max + 1,
  });
  return { rows: rows.slice(0, max), resume: rows[max]?.key };
}

/** The first position behind every key that begins so. UTF-8 has no 0xff, so the last byte can be raised. */
function afterAllBelow(prefix: Buffer): Buffer {
  if (prefix.length === 0) return ABOVE_ALL;
  const position = Buffer.from(prefix);
  position.writeUInt8((position.at(-1) ?? 0) + 1, position.length - 1);
  return position;
}

/** Throws InvalidArgument; NotImplemented for the older ListObjects. */
export function parseListQuery(request: StoreRequest): ListQuery {
  if (request.parameter('list-type') !== '2') throw notImplemented('GET bucket without list-type=2');
  if (![undefined, 'url'].includes(request.parameter('encoding-type')))
    throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  const prefix = request.parameter('prefix') ?? '';
  const token = request.parameter('continuation-token');
  if (token === undefined) return { prefix };
  if (!token.startsWith(TOKEN_PREFIX) || !/^[\w-]+$/.test(token.slice(TOKEN_PREFIX.length)))
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect');
  return { prefix, from: Buffer.from(token.slice(TOKEN_PREFIX.length), 'base64url') };
}

export function renderListing(request: StoreRequest, { prefix }: ListQuery, page: ListPage): string {
  const isUrlEncoded = request.parameter('encoding-type') === 'url';
  const encode = (text: string) => (isUrlEncoded ? encodeUriPath(text) : text);
  const given = (name: string, value: string | undefined): Xml[] =>
    value === undefined ? [] : [element(name, value)];
  const resume = page.resume && TOKEN_PREFIX + Buffer.from(page.resume).toString('base64url');
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
    ...given('EncodingType', request.parameter('encoding-type')),
    ...given('ContinuationToken', request.parameter('continuation-token')),
    element('KeyCount', page.rows.length),
    element('MaxKeys', limits.listKeysMax),
    element('IsTruncated', resume !== undefined),
    ...given('NextContinuationToken', resume),
    ...contents,
  ];
  return renderDocument('ListBucketResult', children, S3_NAMESPACE);
}
