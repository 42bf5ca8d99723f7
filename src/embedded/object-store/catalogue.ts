// Which objects exist, and which blob holds the bytes of each: one SQLite table, ordered by bucket and key.
//
// Why a database beside plain files, and not file names made from keys: any key is allowed ("..", empty
// segments, 1 KB, two that differ in case only); an overwrite or a copy changes bytes, size, ETag and
// metadata in one atomic step; a copy is one row, whatever the size; and a page of a listing is one index
// range, also with 100,000 objects. Keys are BLOBs: memcmp order is the UTF-8 byte order that S3 lists in.
//
// Durability: the journal is a write-ahead log with synchronous=NORMAL, under which a commit does not
// wait for the disk and a crash loses only a tail of whole commits. `durable()` then flushes the log
// off the thread (many commits share a flush), and nobody is answered before it resolves. synchronous=FULL
// gives the same guarantee but would stop the whole thread for each flush.
import { Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { limits } from './limits.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, created_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL,
    key BLOB NOT NULL,
    blob TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    attributes TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS objects_blob ON objects (blob);
`;

export interface ObjectRow {
  readonly blob: string;
  readonly size: number;
  readonly etag: string;
  readonly modified_ms: number;
  /** JSON, see object-attributes.ts */
  readonly attributes: string;
}

export interface ListedRow {
  readonly key: Uint8Array;
  readonly size: number;
  readonly etag: string;
  readonly modified_ms: number;
}

interface RangeOptions {
  readonly bucket: string;
  /** Inclusive. */
  readonly from: Uint8Array;
  /** Exclusive. */
  readonly below: Uint8Array;
  readonly limit: number;
}

export interface Catalogue {
  createBucket(bucket: string, createdMs: number): void;
  hasBucket(bucket: string): boolean;
  find(bucket: string, key: string): ObjectRow | undefined;
  put(bucket: string, key: string, row: ObjectRow): void;
  delete(bucket: string, key: string): void;
  range(options: RangeOptions): ListedRow[];
  isNamed(blob: string): boolean;
  /** Runs several changes as one commit. */
  atomically(change: () => void): void;
  /** Resolves when every change made before the call would survive a loss of power. */
  durable(): Promise<void>;
  close(): Promise<void>;
}

/** Opens or creates the database file. Throws when another process holds it. */
export async function openCatalogue(path: string): Promise<Catalogue> {
  const database = openDatabase(path);
  const log = await open(`${path}-wal`, 'r+');
  const durable = createGroupFlush(() => log.datasync());
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
  return {
    createBucket: (bucket, createdMs) => void insertBucket.run(bucket, createdMs),
    hasBucket: (bucket) => findBucket.get(bucket) !== null,
    find: (bucket, key) => findObject.get(bucket, Buffer.from(key)) ?? undefined,
    put: (bucket, key, row) => {
      const { blob, size, etag, modified_ms, attributes } = row;
      putObject.run(bucket, Buffer.from(key), blob, size, etag, modified_ms, attributes);
    },
    delete: (bucket, key) => void deleteObject.run(bucket, Buffer.from(key)),
    range: ({ bucket, from, below, limit }) => findRange.all(bucket, from, below, limit),
    isNamed: (blob) => findBlob.get(blob) !== null,
    atomically: (change) => void database.transaction(change).immediate(),
    durable,
    close: async () => {
      await durable();
      await log.close();
      database.close();
    },
  };
}

/** The lock is exclusive and kept, so that two stores never share a directory. */
function openDatabase(path: string): Database {
  const database = new Database(path, { create: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${limits.directoryLockMsMax}`);
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('PRAGMA journal_mode = WAL');
    database.run('PRAGMA synchronous = NORMAL');
    database.run(SCHEMA);
    database.run('PRAGMA user_version = 1');
  } catch (error) {
    database.close();
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') {
      throw new Error(`${path} is in use by another process`, { cause: error });
    }
    throw error;
  }
  if (!existsSync(`${path}-wal`)) throw new Error('the write-ahead log is missing');
  return database;
}

/** At most one flush runs and one waits; the waiting one serves all who call meanwhile. */
function createGroupFlush(flush: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  function start(): Promise<void> {
    running = flush().finally(() => {
      running = undefined;
    });
    return running;
  }
  return () => {
    if (waiting !== undefined) return waiting;
    if (running === undefined) return start();
    waiting = running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined;
        return start();
      });
    return waiting;
  };
}
