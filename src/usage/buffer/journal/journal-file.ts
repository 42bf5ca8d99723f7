// The journal on disk: packs in a SQLite table, each group of them made durable by one fsync.

import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { type DiskFault, diskFaultOf } from '../../../core/disk-fault.ts';
import { makeFolder } from '../../../core/durable.ts';
import type { BufferMetrics } from '../event-buffer.ts';

/** `traceparent`: the span that appended it, where its trace is sampled. */
export type Packed = { pack: Uint8Array; traceparent?: string | null | undefined };

export type Entry = Packed & { seq: number };

export type JournalMetrics = Pick<BufferMetrics, 'packs' | 'bytes' | 'waiting' | 'fault'>;

/** The code of an append that the journal has no room for. */
export const JOURNAL_FULL = 'JOURNAL_FULL';

class JournalFull extends Error {
  readonly code = JOURNAL_FULL;
}

/** SQLite's `user_version`, which files of all versions have had so far. */
const VERSION = 0;
const PAGE_BYTES = 16_384;
/** Other processes of this machine append to it, too. */
const BUSY_TIMEOUT_MS = 1500;
/** Free pages beyond this many are given back to the file system, a few at a time. */
const FREE_PAGES_KEPT = 1024;
const FREE_PAGES_RETURNED = 256;

/** Opens the journal of the folder, which is created if it is absent. `open`: tests observe the opened files. */
export function openJournalFile(
  directory: string,
  bytesMax: number,
  open = (path: string): Database => new Database(path, { create: true }),
) {
  makeFolder(directory);
  const database = open(join(directory, 'journal.sqlite'));
  database.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  database.run('PRAGMA auto_vacuum = INCREMENTAL');
  database.run('PRAGMA journal_mode = WAL');
  database.run('PRAGMA synchronous = FULL');
  const number = (pragma: string): number =>
    (database.query(`PRAGMA ${pragma}`).values()[0]?.[0] as number | undefined) ?? 0;
  if (number('user_version') > VERSION) {
    database.close();
    throw new Error('it is of a newer version of Atrium, which is to be started again; nothing was changed');
  }
  database.run(
    'CREATE TABLE IF NOT EXISTS packs (seq INTEGER PRIMARY KEY AUTOINCREMENT, pack BLOB NOT NULL, traceparent TEXT)',
  );
  database.run('CREATE TABLE IF NOT EXISTS journal (id TEXT NOT NULL)');
  database.run('INSERT INTO journal SELECT ? WHERE NOT EXISTS (SELECT 1 FROM journal)', [Bun.randomUUIDv7()]);

  const bytes = (): number => (number('page_count') - number('freelist_count')) * PAGE_BYTES;
  const insert = database.query('INSERT INTO packs (pack, traceparent) VALUES (?, ?)');
  const remove = database.query('DELETE FROM packs WHERE seq = ?');
  const after = database.query<Entry, [number]>(
    'SELECT seq, pack, traceparent FROM packs WHERE seq > ? ORDER BY seq',
  );
  const ends = database.query<{ first: number | null; last: number | null }, []>(
    'SELECT min(seq) AS first, max(seq) AS last FROM packs',
  );
  const removeAll = database.transaction((seqs: readonly number[]) => {
    for (const seq of seqs) remove.run(seq);
  });

  const touch = database.query('UPDATE journal SET id = id');
  const checkpoint = database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)');
  let fault: DiskFault | undefined;
  /**
   * The system treats the pages of a failed sync as written, and the next sync does not include them: all later entries
   * of the log would be lost at a power failure. So the whole log is written into the file before anything more is written.
   */
  const recover = (): void => {
    if (checkpoint.get()?.busy !== 0) throw new Error('the log is being read');
    fault = undefined;
  };
  const write = (work: () => void): void => {
    try {
      if (fault !== undefined) recover();
      work();
    } catch (error) {
      fault = diskFaultOf(error) ?? fault;
      throw error;
    }
  };
  const isOver = (): boolean => {
    try {
      write(() => touch.run());
    } catch {
      return false;
    }
    return true;
  };

  return {
    /** The journal's own name, given when it was made. */
    id: (database.query('SELECT id FROM journal').get() as { id: string }).id,
    /** Durable when it returns. Throws `JournalFull` beyond the limit, else the error of SQLite. */
    append({ pack, traceparent }: Packed): void {
      if (bytes() + pack.length > bytesMax) throw new JournalFull();
      write(() => insert.run(pack, traceparent ?? null));
    },
    /** Entries after `after`, in order, at least one where there is any, until they hold `bytesMax` or are `packsMax`. */
    read({ after: position, ...limits }: { after: number; bytesMax: number; packsMax: number }): Entry[] {
      const entries: Entry[] = [];
      let size = 0;
      for (const entry of after.iterate(position)) {
        entries.push(entry);
        size += entry.pack.length;
        if (size >= limits.bytesMax || entries.length >= limits.packsMax) break;
      }
      return entries;
    },
    /** May be undone by a power failure: then they are delivered again. */
    remove(seqs: readonly number[]): void {
      // An acknowledgement need not be durable, so it costs no fsync.
      database.run('PRAGMA synchronous = NORMAL');
      try {
        write(() => {
          removeAll.immediate(seqs);
          if (number('freelist_count') > FREE_PAGES_KEPT)
            database.run(`PRAGMA incremental_vacuum(${FREE_PAGES_RETURNED})`);
        });
      } finally {
        database.run('PRAGMA synchronous = FULL');
      }
    },
    /** `fault`: why nothing can be written at the moment. While there is one, each call tries whether it is over. */
    metrics(): JournalMetrics {
      const isFaulty = fault !== undefined && !isOver();
      const { first, last } = ends.get() ?? { first: null, last: null };
      // Packs leave in order, but for a few that were released.
      const waiting = first === null || last === null ? undefined : { first, last };
      const packs = waiting === undefined ? 0 : waiting.last - waiting.first + 1;
      return { packs, bytes: bytes(), waiting, fault: isFaulty ? fault : undefined };
    },
    close: () => database.close(),
  };
}
