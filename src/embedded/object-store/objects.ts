// The objects of the store: files and the catalogue that names them. A change is visible as a whole or not at all, and every promise here
// resolves only when the change would survive a loss of power.

import { existsSync, openSync, readdirSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createDiskProbe } from '../../core/disk-fault.ts';
import { makeFolder, syncFolder } from '../../core/durable.ts';
import { codeOf } from '../../core/errors.ts';
import { openCatalogue, type Removal, type StoredObject } from './catalogue.ts';
import { createChanges } from './changes.ts';
import type { Digests } from './digests.ts';
import { createDisk } from './disk.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { Upload } from './upload.ts';

export type Objects = Awaited<ReturnType<typeof openObjects>>;

/**
 * Opens or creates the store in `directory`, which no other process may have open. After a crash it removes the files that are recorded
 * as nameless, and no others.
 */
export async function openObjects(directory: string, bucket: string) {
  const folder = join(directory, 'blobs');
  const path = join(directory, 'catalogue.sqlite');
  makeFolder(folder);
  await chmod(directory, 0o700);
  if (!existsSync(path) && readdirSync(folder).length > 0)
    throw new Error(`${path} is missing, though there are objects: put it back, or move the folder away`);
  const catalogue = openCatalogue(path, bucket);
  const nameless = catalogue.nameless();
  for (const blob of nameless) await rm(join(folder, blob), { force: true });
  catalogue.transaction(() => nameless.forEach(catalogue.removeNameless));
  await syncFolder(directory);
  const disk = createDisk({ msMax: limits.diskCallMsMax, runningMax: limits.diskCallsMax });
  const changes = createChanges(catalogue, disk, join(directory, '.probe'));

  /** Throws NoSuchKey. */
  function get(key: string): StoredObject {
    const object = catalogue.find(key);
    if (object === undefined) throw new S3Error('NoSuchKey', { details: { Key: key } });
    return object;
  }

  /** Removes files after the change that took their names: until then a crash could bring a name back. */
  async function removeFiles(blobs: readonly string[]): Promise<void> {
    const removeFile = async (blob: string): Promise<void> => {
      await disk.call(() => rm(join(folder, blob), { force: true }));
      changes.later(() => catalogue.removeNameless(blob));
    };
    await Promise.allSettled(blobs.map(removeFile));
  }

  return {
    bucket,
    get,
    /**
     * A descriptor of the bytes, which the caller closes; they stay as they are when the object is replaced. To be called in the same
     * turn of the event loop as `get`, before a replacement can remove them.
     */
    openContent: (object: StoredObject): number => openSync(join(folder, object.blob), 'r'),
    /** The file is recorded as nameless before it is made. */
    async beginUpload(options: { sizeBytesMax: number; digests: Digests }): Promise<Upload> {
      const id = crypto.randomUUID();
      await changes.make(() => catalogue.addNameless(id));
      const onRemoved = () => changes.later(() => catalogue.removeNameless(id));
      return await Upload.begin(folder, id, { ...options, disk, onRemoved });
    },
    /** Makes an object of what was uploaded. */
    async put(key: string, upload: Upload, type: string): Promise<StoredObject> {
      const etag = await upload.finish();
      const object = { blob: upload.id, size: upload.sizeBytes, etag, type, ...newWrite() };
      try {
        const released = await changes.make(() => catalogue.put(key, object));
        upload.isKept = true;
        await removeFiles(released);
      } catch (error) {
        // After a flush that failed the name may be on the disk nevertheless: then the next start decides.
        if (codeOf(error).startsWith('SQLITE_IOERR')) upload.isKept = true;
        throw error;
      }
      return object;
    },
    /**
     * Copies no bytes: both names share the file. `meant`: whether the source, as it is when the copy is made, is the one that the caller
     * means; undefined where it is not.
     */
    async copy(
      from: string,
      to: string,
      options: { type: string; meant(source: StoredObject): boolean },
    ): Promise<StoredObject | undefined> {
      const made = await changes.make(() => {
        const source = get(from);
        if (!options.meant(source)) return undefined;
        const object = { ...source, type: options.type, ...newWrite() };
        return { object, released: catalogue.put(to, object) };
      });
      if (made !== undefined) await removeFiles(made.released);
      return made?.object;
    },
    /** Keys that hold nothing, or another version, are no error. Returns the keys that hold something with another ETag, which stay. */
    async remove(removals: readonly Removal[]): Promise<string[]> {
      const refused: string[] = [];
      const released = await changes.make(() =>
        removals.flatMap(({ key, version, etag }) => {
          const object = catalogue.find(key);
          if (object === undefined || (version ?? object.version) !== object.version) return [];
          if ((etag ?? object.etag) === object.etag) return catalogue.delete(key);
          refused.push(key);
          return [];
        }),
      );
      await removeFiles(released);
      return refused;
    },
    /** Up to limits.listKeysMax objects, from a position on. `resume`: where the next page begins; undefined on the last one. */
    list(prefix: string, from: Uint8Array) {
      const rows = catalogue.range(Buffer.from(prefix), from, limits.listKeysMax + 1);
      return { rows: rows.slice(0, limits.listKeysMax), resume: rows[limits.listKeysMax]?.key };
    },
    /** Why no upload can be taken now. */
    diskFault: createDiskProbe(directory),
    close: (): void => catalogue.close(),
  };
}

/** HTTP dates know no finer time than a second, and an object has one date everywhere. */
const newWrite = () => ({
  modifiedMs: Math.floor(Date.now() / 1000) * 1000,
  version: crypto.randomUUID().replaceAll('-', ''),
});
