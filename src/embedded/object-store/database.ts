// The catalogue's SQLite file: opened under a lock, and looked over where it may not be whole.
import { Database, SQLiteError } from 'bun:sqlite';
import { existsSync, rmSync } from 'node:fs';
import { limits } from './limits.ts';
import { SNAPSHOT_VERSION } from './snapshot.ts';

/** `user_version` of a catalogue, as opposed to a snapshot of one. */
export const VERSION = 1;

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
  -- Blobs that have no name for a reason: not yet, or no longer.
  CREATE TABLE IF NOT EXISTS passing (blob TEXT PRIMARY KEY) WITHOUT ROWID;
`;

/** The lock is exclusive and kept, so that two stores never share a directory. */
export function openDatabase(path: string, wasSnapshot: boolean): Database {
  if (wasSnapshot) {
    // Files beside a snapshot belong to the database file that it replaced.
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  }
  let database: Database | undefined;
  try {
    // There is a log where the last process did not end in order, or its files were copied.
    if (existsSync(path) && existsSync(`${path}-wal`)) assertSound(path);
    database = new Database(path, { create: true, strict: true });
    database.run(`PRAGMA busy_timeout = ${limits.directoryLockMsMax}`);
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('PRAGMA journal_mode = WAL');
    database.run('PRAGMA synchronous = NORMAL');
    refuseNewer(database, path);
    database.run(SCHEMA);
    if (!wasSnapshot) database.run(`PRAGMA user_version = ${VERSION}`);
  } catch (error) {
    database?.close();
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY')
      throw new Error(`${path} is in use by another process`, { cause: error });
    if (error instanceof SQLiteError && DAMAGED.has(error.code ?? ''))
      throw damaged(path, error.message, error);
    throw error;
  }
  if (!existsSync(`${path}-wal`)) throw new Error('the write-ahead log is missing');
  return database;
}

/** A newer version's catalogue may have unknown contents, and would then be marked as one of this version. */
function refuseNewer(database: Database, path: string): void {
  const version =
    database.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0;
  if (version <= SNAPSHOT_VERSION) return;
  throw new Error(
    `${path} is of a newer version of Atrium, which is to be started again; nothing was changed`,
  );
}

const DAMAGED: ReadonlySet<string> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB']);

/**
 * Pages of a file and a log that were copied one after the other may be inconsistent. Read only, because SQLite would
 * write such a log into the file at the end, which would hide the damage. Half a second for a million objects.
 */
function assertSound(path: string): void {
  const database = new Database(path, { readonly: true });
  try {
    database.run(`PRAGMA busy_timeout = ${limits.directoryLockMsMax}`);
    const found = database.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').get();
    if (found?.quick_check !== 'ok') throw damaged(path, found?.quick_check ?? 'it tells nothing');
  } finally {
    database.close();
  }
}

const damaged = (path: string, reason: string, cause?: unknown): Error =>
  new Error(`${path} is damaged (${reason.replaceAll(/\s+/g, ' ')})`, { cause });
