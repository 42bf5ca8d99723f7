// The objects of the store in one SQLite table, ordered by bucket and key.
//
// Why a database beside plain files, and not file names made from keys: any key is allowed ("..", empty segments, 1 KB, two that
// differ in case only); a replacement or a copy changes bytes, size, ETag and type in one atomic step; a copy is one row; and a page
// of a listing is one index range. Keys are BLOBs: memcmp order is the UTF-8 byte order in which S3 lists.

import { Database, SQLiteError } from 'bun:sqlite';
import { limits } from './limits.ts';

/** `user_version` of the file. */
const VERSION = 3;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL,
    key BLOB NOT NULL,
    blob TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS objects_blob ON objects (blob);
  -- Files that no object names: they are being received, or are to be removed.
  CREATE TABLE IF NOT EXISTS nameless (blob TEXT PRIMARY KEY) WITHOUT ROWID;
  PRAGMA user_version = ${VERSION};
`;

export type StoredObject = {
  /** The file that holds its bytes; copies share it. */
  blob: string;
  size: number;
  /** MD5 of the content in hex, without quotes. */
  etag: string;
  /** In whole seconds, as HTTP dates are. */
  modifiedMs: number;
  type: string;
  /** Of this write of the key and of no other. */
  version: string;
};

/** The object to delete: any under the key, or only that version, or only that ETag (without quotes). */
export type Removal = Partial<Pick<StoredObject, 'version' | 'etag'>> & { key: string };

export type ListedRow = Pick<StoredObject, 'size' | 'etag' | 'modifiedMs'> & { key: Uint8Array };

export type Catalogue = ReturnType<typeof openCatalogue>;

/**
 * Opens or creates the file, and locks it for this process. Every transaction is flushed to the disk before it returns
 * (`synchronous = FULL`); SQLite writes the log anew after a flush that failed. Throws one line where another process has the file,
 * and for one that is damaged or of another version.
 */
export function openCatalogue(path: string, bucket: string) {
  const database = openDatabase(path);
  const findObject = database.query<StoredObject, [string, Uint8Array]>(
    'SELECT blob, size, etag, modified_ms AS modifiedMs, type, version FROM objects WHERE bucket = ? AND key = ?',
  );
  const putObject = database.query(
    `INSERT OR REPLACE INTO objects VALUES ($bucket, $key, $blob, $size, $etag, $modifiedMs, $type, $version)`,
  );
  const deleteObject = database.query('DELETE FROM objects WHERE bucket = ? AND key = ?');
  const findRange = database.query<ListedRow, [string, Uint8Array, Uint8Array, number]>(
    `SELECT key, size, etag, modified_ms AS modifiedMs FROM objects
     WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
  );
  const findBlob = database.query('SELECT 1 FROM objects WHERE blob = ? LIMIT 1');
  const insertNameless = database.query('INSERT OR IGNORE INTO nameless VALUES (?)');
  const deleteNameless = database.query('DELETE FROM nameless WHERE blob = ?');
  const allNameless = database.query<{ blob: string }, []>('SELECT blob FROM nameless');

  const find = (key: string): StoredObject | undefined =>
    findObject.get(bucket, Buffer.from(key)) ?? undefined;
  /** The blob of an object that was replaced or deleted, if no other object has it. */
  const released = (object: StoredObject | undefined): string[] => {
    if (object === undefined || findBlob.get(object.blob) !== null) return [];
    insertNameless.run(object.blob);
    return [object.blob];
  };
  return {
    find,
    /** Returns the blobs that have no name any more. */
    put(key: string, object: StoredObject): string[] {
      const replaced = find(key);
      putObject.run({ bucket, key: Buffer.from(key), ...object });
      deleteNameless.run(object.blob);
      return released(replaced);
    },
    /** Returns the blobs that have no name any more. */
    delete(key: string): string[] {
      const deleted = find(key);
      deleteObject.run(bucket, Buffer.from(key));
      return released(deleted);
    },
    /** Up to `limit` objects whose keys begin with the prefix, from a position on. */
    range(prefix: Buffer, from: Uint8Array, limit: number): ListedRow[] {
      // UTF-8 has no 0xff, so the last byte can be raised.
      const below = prefix.length === 0 ? Buffer.of(0xff) : Buffer.from(prefix);
      if (prefix.length > 0) below.writeUInt8((prefix.at(-1) ?? 0) + 1, prefix.length - 1);
      return findRange.all(bucket, Buffer.compare(from, prefix) < 0 ? prefix : from, below, limit);
    },
    addNameless: (blob: string) => void insertNameless.run(blob),
    removeNameless: (blob: string) => void deleteNameless.run(blob),
    nameless: (): string[] => allNameless.all().map(({ blob }) => blob),
    /** When it returns, the changes would survive a loss of power. */
    transaction: (change: () => void): void => void database.transaction(change).immediate(),
    close: () => database.close(),
  };
}

function openDatabase(path: string): Database {
  let database: Database | undefined;
  try {
    database = new Database(path, { create: true, strict: true });
    database.run(`PRAGMA busy_timeout = ${limits.directoryLockMsMax}`);
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('PRAGMA journal_mode = WAL');
    database.run('PRAGMA synchronous = FULL');
    const found = database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version;
    if (found !== 0 && found !== VERSION)
      throw new Error(
        `${path} is of another version of Atrium, which is to be started again; nothing was changed`,
      );
    database.run(SCHEMA);
    return database;
  } catch (error) {
    database?.close();
    if (!(error instanceof SQLiteError)) throw error;
    if (error.code === 'SQLITE_BUSY')
      throw new Error(`${path} is in use by another process`, { cause: error });
    if (error.code === 'SQLITE_CORRUPT' || error.code === 'SQLITE_NOTADB')
      throw new Error(`${path} is damaged (${error.message})`, { cause: error });
    throw error;
  }
}
