// The objects, with the blob of each: one SQLite table, ordered by bucket and key.
//
// Why a database beside plain files, and not file names made from keys: any key is allowed ("..", empty
// segments, 1 KB, two that differ in case only); an overwrite or a copy changes bytes, size, ETag and
// metadata in one atomic step; a copy is one row, whatever the size; and a page of a listing is one index
// range, also with 100,000 objects. Keys are BLOBs: memcmp order is the UTF-8 byte order that S3 lists in.
//
// Durability: the journal is a write-ahead log with synchronous=NORMAL, under which a commit does not
// wait for the disk and a crash loses only a tail of whole commits. `durable()` then flushes the log
// off the thread (many commits share a flush), and no request is answered before it resolves. synchronous=FULL
// gives the same guarantee but would stop the whole thread for each flush.
import type { Database } from 'bun:sqlite';
import { type FileHandle, open } from 'node:fs/promises';
import { DiskHangs } from '../../core/disk-fault.ts';
import { openDatabase, VERSION } from './database.ts';
import type { DiskCalls } from './disk-calls.ts';
import { createGroupFlush } from './group-flush.ts';
import { copyAsSnapshot, isSnapshot, readVersion } from './snapshot.ts';

export interface ObjectRow {
  readonly blob: string;
  readonly size: number;
  readonly etag: string;
  readonly modified_ms: number;
  /** JSON, see objects.ts */
  readonly attributes: string;
}

export interface ListedRow {
  readonly key: Uint8Array;
  readonly size: number;
  readonly etag: string;
  readonly modified_ms: number;
}

export type Catalogue = Awaited<ReturnType<typeof openCatalogue>>;

/** Opens or creates the database file. Throws when another process holds it, and for a damaged one. */
export async function openCatalogue(path: string, disk: DiskCalls) {
  const wasSnapshot = isSnapshot(path);
  const database = openDatabase(path, wasSnapshot);
  // Open for as long as the database is: closing any descriptor of the file would give SQLite's locks on it away.
  const file = await open(path, 'r');
  const log = await open(`${path}-wal`, 'r+');
  const snapshots = createSnapshots(database, file);
  let isSuspect = false;
  /**
   * The system treats the pages of a failed flush as written, and the next flush does not include them: all later
   * entries of the log would be lost at a power failure. So the whole log is written into the file before anything more is written.
   */
  const durable = createGroupFlush(async () => {
    disk.assertAnswers();
    try {
      if (isSuspect) await snapshots.checkpoint();
      await disk.call(() => log.datasync());
      isSuspect = false;
    } catch (error) {
      // Where other calls hang this one has not begun, and nothing is lost.
      isSuspect ||= !(error instanceof DiskHangs);
      throw error;
    }
  });
  const insertBucket = database.query<null, [string, number]>('INSERT OR IGNORE INTO buckets VALUES (?, ?)');
  const findBucket = database.query<{ name: string }, [string]>('SELECT name FROM buckets WHERE name = ?');
  const findObject = database.query<ObjectRow, [string, Uint8Array]>(
    'SELECT blob, size, etag, modified_ms, attributes FROM objects WHERE bucket = ? AND key = ?',
  );
  const putObject = database.query<null, [string, Uint8Array, string, number, string, number, string]>(
    'INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const deleteObject = database.query<null, [string, Uint8Array]>(
    'DELETE FROM objects WHERE bucket = ? AND key = ?',
  );
  const findRange = database.query<ListedRow, [string, Uint8Array, Uint8Array, number]>(
    `SELECT key, size, etag, modified_ms FROM objects
     WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
  );
  const findBlob = database.query<{ blob: string }, [string]>(
    'SELECT blob FROM objects WHERE blob = ? LIMIT 1',
  );
  const insertPassing = database.query<null, [string]>('INSERT OR IGNORE INTO passing VALUES (?)');
  const findPassing = database.query<{ blob: string }, [string]>('SELECT blob FROM passing WHERE blob = ?');
  const deletePassing = database.query<null, [string]>('DELETE FROM passing WHERE blob = ?');
  return {
    createBucket: (bucket: string, createdMs: number) => void insertBucket.run(bucket, createdMs),
    hasBucket: (bucket: string) => findBucket.get(bucket) !== null,
    find: (bucket: string, key: string) => findObject.get(bucket, Buffer.from(key)) ?? undefined,
    put: (bucket: string, key: string, row: ObjectRow) => {
      const { blob, size, etag, modified_ms, attributes } = row;
      putObject.run(bucket, Buffer.from(key), blob, size, etag, modified_ms, attributes);
    },
    delete: (bucket: string, key: string) => void deleteObject.run(bucket, Buffer.from(key)),
    /** Up to `limit` objects whose keys are at or above `from` and under `below`. */
    range: (options: { bucket: string; from: Uint8Array; below: Uint8Array; limit: number }) =>
      findRange.all(options.bucket, options.from, options.below, options.limit),
    isNamed: (blob: string) => findBlob.get(blob) !== null,
    /** The blob has no name yet, or will have none after the same commit. Survives SIGKILL. */
    pass: (blob: string) => void insertPassing.run(blob),
    isPassing: (blob: string) => findPassing.get(blob) !== null,
    /** The blob has a name, or is gone. */
    settle: (blob: string) => void deletePassing.run(blob),
    /** To be called once nothing has been served yet and no blob is without a name: ends all passing. */
    begin: () => {
      database.run('DELETE FROM passing');
      if (!wasSnapshot) return;
      database.run(`PRAGMA user_version = ${VERSION}`);
      // It is no snapshot any more once the file itself says so: a snapshot's log is not looked at.
      database.query('PRAGMA wal_checkpoint(TRUNCATE)').get();
      if (readVersion(file.fd) !== VERSION) throw new Error(`${path} cannot be written`);
    },
    atomically: (change: () => void) => void database.transaction(change).immediate(),
    /** Resolves when every change made before the call would survive a loss of power. */
    durable,
    /** Writes a whole copy as of this moment, unless nothing has changed since the last; `close` gives it up. */
    snapshot: snapshots.write,
    close: async () => {
      await snapshots.end();
      await durable();
      await log.close();
      database.close();
      await file.close();
    },
  };
}

/** SQLite's own pace. */
const CHECKPOINT_PAGES = 1000;

/**
 * Between two checkpoints the database file does not change, as commits go to the log: held back, they leave a file
 * that can be copied beside the work, without a second connection and without stopping the thread.
 */
function createSnapshots(database: Database, file: FileHandle) {
  const changes = database.query<{ changes: number }, []>('SELECT total_changes() AS changes');
  const checkpoint = database.query<{ busy: number; log: number; checkpointed: number }, []>(
    'PRAGMA wal_checkpoint(PASSIVE)',
  );
  const writeAll = database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)');
  let kept: number | undefined;
  let ending = false;
  let waiting = 0;
  let running: Promise<void> = Promise.resolve();
  async function write(target: string): Promise<void> {
    const current = changes.get()?.changes;
    if (ending || current === kept) return;
    database.run('PRAGMA wal_autocheckpoint = 0');
    try {
      const done = checkpoint.get();
      if (done === null || done.busy !== 0 || done.log !== done.checkpointed) return;
      if (await copyAsSnapshot(file, target, () => ending || waiting > 0)) kept = current;
    } finally {
      database.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    }
  }
  return {
    write(target: string): Promise<void> {
      const written = running.then(() => write(target));
      running = written.catch(() => undefined);
      return written;
    },
    /** Writes all of the log into the file and begins it anew. A copy that is being made is given up: its file changes. */
    async checkpoint(): Promise<void> {
      waiting += 1;
      const done = running.then(() => writeAll.get());
      running = done.then(
        () => undefined,
        () => undefined,
      );
      try {
        if ((await done)?.busy !== 0) throw new Error('the log of the catalogue cannot be written anew');
      } finally {
        waiting -= 1;
      }
    },
    /** An entry that is being written is abandoned. */
    end(): Promise<void> {
      ending = true;
      return running;
    },
  };
}
