// What a backup, a verification or a restore has to go through: the objects that the packs hold, and those that the documents
// need. They are kept in a file, so that millions of them take no memory.

import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { PAGE_OBJECTS } from './limits.ts';
import type { Entry, Pack } from './packs.ts';

export type HeldEntry = Entry & { pack: string };

export type WorkingSet = ReturnType<typeof openWorkingSet>;

/** Opens a new one; `close` removes it. A file that a killed process has left is replaced. */
export function openWorkingSet(path: string) {
  rmSync(path, { force: true });
  const database = new Database(path, { create: true });
  database.run('PRAGMA journal_mode = OFF');
  database.run('PRAGMA synchronous = OFF');
  database.run(`CREATE TABLE packs (id TEXT PRIMARY KEY, bytes INTEGER, objects INTEGER, sha256 TEXT)`);
  database.run(`CREATE TABLE held (key TEXT PRIMARY KEY, pack TEXT, "offset" INTEGER, size INTEGER, type TEXT,
    sha256 TEXT) WITHOUT ROWID`);
  database.run('CREATE TABLE needed (key TEXT PRIMARY KEY) WITHOUT ROWID');
  const insertPack = database.query('INSERT INTO packs VALUES (?, ?, ?, ?)');
  const insertHeld = database.query('INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?, ?, ?)');
  const insertNeeded = database.query('INSERT OR IGNORE INTO needed VALUES (?)');
  const isNeeded = database.query('SELECT 1 FROM needed WHERE key = ?');
  const forget = database.query('DELETE FROM needed WHERE key = ?');
  const settle = database.query(
    'DELETE FROM needed WHERE key = ? AND EXISTS (SELECT 1 FROM held WHERE key = ? AND size = ?)',
  );
  const findMissing = database.query<{ key: string }, [string, number]>(`
    SELECT key FROM needed WHERE key > ? AND NOT EXISTS (SELECT 1 FROM held WHERE held.key = needed.key)
    ORDER BY key LIMIT ?`);
  const findHeld = database.query<HeldEntry, [string, number, string, number]>(`
    SELECT held.* FROM held JOIN needed USING (key) WHERE pack = ? AND ("offset", key) > (?, ?)
    ORDER BY "offset", key LIMIT ?`);

  return {
    /** An object that several packs hold is taken from the last. */
    addPack: database.transaction(({ id, bytes, objects, sha256 }: Pack, entries: readonly Entry[]) => {
      insertPack.run(id, bytes, objects, sha256);
      for (const { key, offset, size, type, sha256 } of entries)
        insertHeld.run(key, id, offset, size, type, sha256);
    }),
    removePack: database.transaction((id: string) => {
      database.run('DELETE FROM packs WHERE id = ?', [id]);
      database.run('DELETE FROM held WHERE pack = ?', [id]);
    }),
    async addNeeded(keys: AsyncIterable<string>): Promise<void> {
      database.run('BEGIN');
      for await (const key of keys) insertNeeded.run(key);
      database.run('COMMIT');
      // For all that looks objects up by their packs.
      database.run('CREATE INDEX held_in_order ON held (pack, "offset")');
    },
    /** These are not needed. */
    forget: database.transaction((keys: readonly string[]) => {
      for (const key of keys) forget.run(key);
    }),
    isNeeded: (key: string): boolean => isNeeded.get(key) !== null,
    /** An object that is there already, with this size, is needed no more. */
    settle: (key: string, size: number): void => void settle.run(key, key, size),

    /** Needed objects that no pack holds, in pages in the order of their keys. Packs may be added meanwhile. */
    *missing(): Generator<string[]> {
      for (let after = ''; ; ) {
        const page = findMissing.all(after, PAGE_OBJECTS).map(({ key }) => key);
        yield page;
        if (page.length < PAGE_OBJECTS) return;
        after = page.at(-1) ?? after;
      }
    },
    /** Needed objects of a pack, in pages in the order of their places. */
    *entriesOf(pack: string): Generator<HeldEntry[]> {
      for (let offset = -1, key = ''; ; ) {
        const page = findHeld.all(pack, offset, key, PAGE_OBJECTS);
        yield page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE_OBJECTS) return;
        ({ offset, key } = last);
      }
    },
    /** All packs, with the bytes and the number of their objects that are needed. */
    packs: (): (Pack & { liveBytes: number; live: number })[] =>
      database
        .query<Pack & { liveBytes: number; live: number }, []>(`
          SELECT packs.*, coalesce(sum(size), 0) AS liveBytes, count(held.key) AS live FROM packs
          LEFT JOIN (SELECT held.* FROM held JOIN needed USING (key)) held ON held.pack = packs.id
          GROUP BY packs.id ORDER BY packs.id`)
        .all(),
    /** The number of needed objects, held or not. */
    needed: (): number =>
      database.query<{ count: number }, []>('SELECT count(*) AS count FROM needed').get()?.count ?? 0,
    close(): void {
      database.close();
      rmSync(path, { force: true });
    },
  };
}
