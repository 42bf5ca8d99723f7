// The journal's promise of durability is a setting of its connection: it must hold at every append, whatever was before.

import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type JournalFile, openJournalFile } from '../../src/usage/buffer/journal/journal-file.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';

/** SQLite syncs the write-ahead log with every commit (https://sqlite.org/pragma.html#pragma_synchronous). */
const FULL = 2;

let directory: string;
let database: Database;
let journal: JournalFile;
beforeEach(() => {
  directory = freshFolder();
  journal = openJournalFile(directory, 1_000_000, (path) => {
    database = new Database(path, { create: true });
    return database;
  });
});
afterEach(() => {
  journal.close();
});

const missing = missingFaultyDisk();

const packed = (text: string) => ({ pack: Buffer.from(text) });
const pragma = (name: string): unknown => database.query(`PRAGMA ${name}`).values()[0]?.[0];
const seqs = (): number[] => journal.read(0, { bytesMax: 1_000_000, packsMax: 100 }).map(({ seq }) => seq);

test('an append waits for the disk: the first, those after removals, and those after one that failed', () => {
  expect([pragma('journal_mode'), pragma('synchronous')]).toEqual(['wal', FULL]);
  for (let round = 0; round < 3; round++) {
    journal.append([packed('a'), packed('b')]);
    expect(pragma('synchronous')).toBe(FULL);
    journal.remove(seqs());
    expect(pragma('synchronous')).toBe(FULL);
  }
  journal.append([packed('c')]);
  database.run('PRAGMA query_only = ON');
  expect(() => journal.remove(seqs())).toThrow('readonly');
  database.run('PRAGMA query_only = OFF');
  expect([pragma('synchronous'), seqs().length]).toEqual([FULL, 1]);
});

test('a journal of a version without traces is continued, and its packs have none', () => {
  const folder = freshFolder();
  const earlier = new Database(join(folder, 'journal.sqlite'), { create: true });
  earlier.run('CREATE TABLE packs (seq INTEGER PRIMARY KEY AUTOINCREMENT, pack BLOB NOT NULL)');
  const insert = "INSERT INTO packs (pack) VALUES ('a')";
  earlier.run(insert);
  const continued = openJournalFile(folder, 1_000_000);
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  continued.append([{ pack: Buffer.from('b'), traceparent }, packed('c')]);
  // A process of that version may still run beside this one.
  earlier.run(insert);
  const entries = continued.read(0, { bytesMax: 1_000_000, packsMax: 100 });
  expect(entries.map((entry) => entry.traceparent)).toEqual([null, traceparent, null, null]);
  earlier.close();
  continued.close();
});

test('a journal of a newer version is refused, and left as it is', () => {
  journal.append([packed('a')]);
  database.run('PRAGMA user_version = 1');
  expect(() => openJournalFile(directory, 1_000_000)).toThrow('it is of a newer version of Atrium');
  expect([pragma('user_version'), seqs()]).toEqual([1, [1]]);
});

describe.skipIf(missing !== undefined)(
  missing === undefined ? 'a failing disk' : `a failing disk (${missing})`,
  () => {
    const openOn = (disk: FaultyDisk): JournalFile => {
      const opened = openJournalFile(join(disk.path, 'events'), 1_000_000);
      for (const folder of ['events', '']) sync(join(disk.path, folder));
      return opened;
    };
    const sync = (folder: string): void => {
      const descriptor = openSync(folder, 'r');
      fsyncSync(descriptor);
      closeSync(descriptor);
    };
    const textsIn = (folder: string): string[] => {
      const found = openJournalFile(folder, 1_000_000);
      const entries = found.read(0, { bytesMax: 1_000_000, packsMax: 100 });
      found.close();
      return entries.map(({ pack }) => Buffer.from(pack).toString());
    };

    test('loses nothing that was taken after a sync that failed: what that one left out is written again', async () => {
      await using disk = await mountFaultyDisk();
      const failing = openOn(disk);
      failing.append([packed('a'), packed('b')]);
      // Not synced by itself.
      failing.remove([1]);
      await disk.fail({ calls: ['fsync'], path: 'events/journal.sqlite-wal', error: 'EIO', count: 1 });
      expect(() => failing.append([packed('c')])).toThrow('disk I/O error');
      expect(failing.metrics().fault).toBeUndefined();
      failing.append([packed('d')]);
      const found = textsIn(join(await disk.survivor(), 'events'));
      failing.close();
      expect(found.filter((text) => text !== 'c')).toEqual(['b', 'd']);
    });

    test.each([
      ['ENOSPC', 'is full'],
      ['EROFS', 'fails'],
      ['EIO', 'fails'],
    ])('that answers %s is told of until it takes a write again', async (error, fault) => {
      await using disk = await mountFaultyDisk();
      const failing = openOn(disk);
      failing.append([packed('a')]);
      expect(failing.metrics().fault).toBeUndefined();
      await disk.fail({ calls: ['write'], path: 'events/**', error });
      expect(() => failing.append([packed('b')])).toThrow();
      for (let round = 0; round < 2; round++) expect(String(failing.metrics().fault)).toBe(fault);
      expect(() => failing.append([packed('b')])).toThrow();
      await disk.clear();
      expect(failing.metrics().fault).toBeUndefined();
      failing.append([packed('c')]);
      const found = textsIn(join(await disk.survivor(), 'events'));
      failing.close();
      expect(found).toEqual(['a', 'c']);
    });
  },
);
