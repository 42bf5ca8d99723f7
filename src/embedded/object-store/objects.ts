// The objects of the store: blobs and catalogue as one. A change is visible as a whole or not at all, and every promise here resolves
// only when the change would survive a loss of power.

import { existsSync, readdirSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDiskProbe } from '../../core/disk-fault.ts';
import { makeFolder, syncFolder } from '../../core/durable.ts';
import { codeOf } from '../../core/errors.ts';
import { type Blob, createBlobs } from './blobs.ts';
import { openCatalogue, type Removal, type StoredObject } from './catalogue.ts';
import { createDisk } from './disk.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import { type ListPage, type ListQuery, readPage } from './listing.ts';

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
  const disk = createDisk({ msMax: limits.diskCallMsMax, runningMax: limits.diskCallsMax });
  const blobs = createBlobs(folder, disk);
  const nameless = catalogue.nameless();
  for (const blob of nameless) await rm(join(folder, blob), { force: true });
  catalogue.transaction(() => nameless.forEach(catalogue.removeNameless));
  await syncFolder(directory);

  const change = createChanges({
    transaction: catalogue.transaction,
    // SQLite writes on this thread: before it does, another thread has seen that the disk takes a write.
    tryDisk: () => disk.call(() => writeFile(join(directory, '.probe'), '.', { mode: 0o600 })),
  });

  /** Throws NoSuchKey. */
  function get(key: string): StoredObject {
    const object = catalogue.find(key);
    if (object === undefined) throw new S3Error('NoSuchKey', { details: { Key: key } });
    return object;
  }

  /** After the change that took their names: until then a crash could bring a name back. */
  async function removeBlobs(ids: readonly string[]): Promise<void> {
    const removals = ids.map((id) =>
      blobs.remove(id).then(() => change.later(() => catalogue.removeNameless(id))),
    );
    await Promise.allSettled(removals);
  }

  return {
    bucket,
    get,
    /**
     * A descriptor of the bytes, which the caller closes; they stay as they are when the object is replaced. To be called in the same
     * turn of the event loop as `get`, before a replacement can remove them.
     */
    openContent: (object: StoredObject): number => blobs.open(object.blob),
    receive: (options: Parameters<typeof blobs.receive>[0]): Promise<Blob> =>
      blobs.receive(options, {
        begin: (id) => change.make(() => catalogue.addNameless(id)),
        end: (id) => change.later(() => catalogue.removeNameless(id)),
      }),
    /** Gives the blob a name; where that fails, the blob is removed. */
    async put(key: string, { id, sizeBytes, md5 }: Blob, type: string): Promise<StoredObject> {
      const object = { blob: id, size: sizeBytes, etag: md5, type, ...newWrite() };
      try {
        await removeBlobs(await change.make(() => catalogue.put(key, object)));
      } catch (error) {
        // After a flush that failed the name may be on the disk nevertheless: then the next start decides.
        if (!codeOf(error).startsWith('SQLITE_IOERR')) void removeBlobs([id]);
        throw error;
      }
      return object;
    },
    /** Copies no bytes: both names share the blob. `assertMeant` sees the source as it is when the copy is made, and may throw. */
    async copy(
      from: string,
      to: string,
      { type, assertMeant }: { type: string; assertMeant(source: StoredObject): void },
    ): Promise<StoredObject> {
      const { object, released } = await change.make(() => {
        const source = get(from);
        assertMeant(source);
        const copy = { ...source, type, ...newWrite() };
        return { object: copy, released: catalogue.put(to, copy) };
      });
      await removeBlobs(released);
      return object;
    },
    /** Keys that hold nothing, or another version, are no error. Returns the keys that hold something with another ETag, which stay. */
    async remove(removals: readonly Removal[]): Promise<string[]> {
      const { refused, released } = await change.make(() => {
        const found = removals.map((removal) => ({ ...removal, object: catalogue.find(removal.key) }));
        const meant = found.filter(
          ({ object, version }) => object !== undefined && (version ?? object.version) === object.version,
        );
        const kept = meant.filter(({ object, etag }) => etag !== undefined && etag !== object?.etag);
        const removed = meant.filter((each) => !kept.includes(each));
        return {
          refused: kept.map(({ key }) => key),
          released: removed.flatMap(({ key }) => catalogue.delete(key)),
        };
      });
      await removeBlobs(released);
      return refused;
    },
    /** Up to limits.listKeysMax objects. */
    list: (query: ListQuery): ListPage => readPage(catalogue.range, query, limits.listKeysMax),
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

type Pending = { run(): () => void; reject(error: unknown): void };

/**
 * Makes changes in transactions: all those that arrive while the disk is busy share the next one, and its flush. A change that throws an
 * S3Error has to do so before it writes.
 */
function createChanges(parts: { transaction(change: () => void): void; tryDisk(): Promise<void> }) {
  let waiting: Pending[] = [];
  let deferred: (() => void)[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const failure = await parts.tryDisk().then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      const batch = waiting;
      waiting = [];
      if (failure === undefined) runBatch(batch);
      else for (const { reject } of batch) reject(failure.error);
    }
    isRunning = false;
  }

  function runBatch(batch: readonly Pending[]): void {
    const answers: (() => void)[] = [];
    try {
      parts.transaction(() => {
        for (const change of deferred) change();
        for (const { run } of batch) answers.push(run());
      });
      deferred = [];
      for (const answer of answers) answer();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    /** Resolves when the change would survive a loss of power. */
    make<Result>(change: () => Result): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const run = (): (() => void) => {
        try {
          const result = change();
          return () => resolve(result);
        } catch (error) {
          if (!(error instanceof S3Error)) throw error;
          return () => reject(error);
        }
      };
      waiting.push({ run, reject });
      if (!isRunning) void runAll();
      return promise;
    },
    /** Makes a change with the next one. */
    later: (change: () => void): void => void deferred.push(change),
  };
}
