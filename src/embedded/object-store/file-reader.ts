// Reads objects from the files of a store that another process of this machine has open. A snapshot of the catalogue names the
// files, whose bytes never change: so no lock is needed, and the thread of the store is left to its clients.

import { constants, Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { ObjectReader, ReadObject } from '../../infra/s3/transfer.ts';
import { blobPath } from './blobs.ts';
import type { ObjectRow } from './catalogue.ts';
import { limits } from './limits.ts';
import { isSnapshot, snapshotPath } from './snapshot.ts';
import { type StoredObject, toStoredObject } from './stored-object.ts';

/**
 * Leaves to `others` what the files do not tell: objects that are younger than the snapshot, and those whose file has gone or has
 * another size. It is for objects that do not change under their keys.
 */
export function openFileReader(
  directory: string,
  bucket: string,
  others: ObjectReader,
): ObjectReader & { close(): void } {
  const catalogue = openSnapshot(snapshotPath(directory));
  const findObject = catalogue?.query<ObjectRow, [string, Uint8Array]>(
    'SELECT blob, size, etag, modified_ms, attributes FROM objects WHERE bucket = ? AND key = ?',
  );
  return {
    async get(key, read) {
      const row = findObject?.get(bucket, Buffer.from(key)) ?? undefined;
      if (row === undefined) return await others.get(key, read);
      const object = toStoredObject(row);
      await using content = await openContent(blobPath(directory, object.blob), object);
      if (content === undefined) return await others.get(key, read);
      return await read({ size: object.sizeBytes, type: object.contentType, body: content.body });
    },
    close: () => catalogue?.close(),
  };
}

/** Undefined where there is none. A snapshot is replaced as a file: the one that is open does not change. */
function openSnapshot(path: string): Database | undefined {
  if (!existsSync(path) || !isSnapshot(path)) return undefined;
  // Otherwise SQLite would make files beside it.
  const location = `${pathToFileURL(path).href}?immutable=1`;
  return new Database(location, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
}

type Content = AsyncDisposable & Pick<ReadObject, 'body'>;

/** Undefined where it cannot be read, or has another size. */
async function openContent(path: string, { sizeBytes }: StoredObject): Promise<Content | undefined> {
  if (sizeBytes > limits.wholeReadBytesMax) return await openParts(path, sizeBytes);
  // Opening, reading and closing it are one call on another thread.
  const body = await readFile(path).catch(() => undefined);
  return body?.length === sizeBytes ? { body, [Symbol.asyncDispose]: async () => undefined } : undefined;
}

async function openParts(path: string, sizeBytes: number): Promise<Content | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  const size = await file.stat().then(
    (about) => about.size,
    () => undefined,
  );
  if (size === sizeBytes) return { body: partsOf(file), [Symbol.asyncDispose]: () => file.close() };
  await file.close();
  return undefined;
}

async function* partsOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(limits.readBufferBytes);
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}
