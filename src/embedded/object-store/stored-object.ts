// An object as the store knows it, and as its catalogue keeps it.

import type { Blob } from './blobs.ts';
import type { ObjectRow } from './catalogue.ts';

export interface StoredObject {
  readonly blob: string;
  readonly sizeBytes: number;
  /** MD5 of the content in hex, without quotes. */
  readonly etag: string;
  readonly modifiedMs: number;
  /** The version of this write; undefined for objects from before there were versions. */
  readonly version: string | undefined;
  readonly contentType: string;
}

export const toNewObject = ({ id, sizeBytes, digests }: Blob, contentType: string): StoredObject => ({
  blob: id,
  sizeBytes,
  etag: (digests.get('md5') ?? Buffer.alloc(0)).toString('hex'),
  modifiedMs: wholeSecond(Date.now()),
  version: newVersion(),
  contentType,
});

/** HTTP dates know no finer time, and an object has one date everywhere. */
export const wholeSecond = (timeMs: number): number => timeMs - (timeMs % 1000);

/** In the catalogue. Earlier versions of the store read metadata, of which no client has any. */
interface Attributes {
  readonly headers: { readonly 'content-type': string };
  readonly metadata: Record<string, never>;
  readonly version: string | undefined;
}

export function toStoredObject(row: ObjectRow): StoredObject {
  // Written by toRow only.
  const { version, headers }: Attributes = JSON.parse(row.attributes);
  return {
    blob: row.blob,
    sizeBytes: row.size,
    etag: row.etag,
    modifiedMs: row.modified_ms,
    version,
    contentType: headers['content-type'],
  };
}

export function toRow({ version, contentType, ...object }: StoredObject): ObjectRow {
  const attributes: Attributes = { headers: { 'content-type': contentType }, metadata: {}, version };
  return {
    blob: object.blob,
    size: object.sizeBytes,
    etag: object.etag,
    modified_ms: object.modifiedMs,
    attributes: JSON.stringify(attributes),
  };
}

export const newVersion = (): string => crypto.randomUUID().replaceAll('-', '');
