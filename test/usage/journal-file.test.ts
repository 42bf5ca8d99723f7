// The journal's promise of durability is a setting of its connection: it must hold at every append, whatever was before.

import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { openJournalFile } from '../../src/usage/buffer/journal/journal-file.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';

/** SQLite syncs the write-ahead log with every commit (https://sqlite.org/pragma.html#pragma_synchronous). */
const FULL = 2;

let directory: string;
let database: Database;
let journal: ReturnType<typeof openJournalFile>;
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
const seqs = (): number[] =>
  journal.read({ after: 0, bytesMax: 1_000_000, packsMax: 100 }).map(({ seq }) => seq);

test('an append waits for the disk: the first, those after removals, and those after one that failed', () => {
  expect([pragma('journal_mode'), pragma('synchronous')]).toEqual(['wal', FULL]);
  for (let round = 0; round < 3; round++) {
    journal.append(packed('a'));
    journal.append(packed('b'));
    expect(pragma('synchronous')).toBe(FULL);
    journal.remove(seqs());
    expect(pragma('synchronous')).toBe(FULL);
  }
  journal.append(packed('c'));
  database.run('PRAGMA query_only = ON');
  expect(() => journal.remove(seqs())).toThrow('readonly');
  database.run('PRAGMA query_only = OFF');
  expect([pragma('synchronous'), seqs().length]).toEqual([FULL, 1]);
});

test('a journal of a newer version is refused, and left as it is', () => {
  journal.append(packed('a'));
  database.run('PRAGMA user_version = 1');
  expect(() => openJournalFile(directory, 1_000_000)).toThrow('it is of a newer version of Atrium');
  expect([pragma('user_version'), seqs()]).toEqual([1, [1]]);
});

describe.skipIf(missing !== undefined)(
  missing === undefined ? 'a failing disk' : `a failing disk (${missing})`,
  () => {
    const openOn = (disk: FaultyDisk) => {
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
      const entries = found.read({ after: 0, bytesMax: 1_000_000, packsMax: 100 });
      found.close();
      return entries.map(({ pack }) => Buffer.from(pack).toString());
    };

    test('loses nothing that was taken after a sync that failed: what that one left out is written again', async () => {
      await using disk = await mountFaultyDisk();
      const failing = openOn(disk);
      failing.append(packed('a'));
      failing.append(packed('b'));
      // Not synced by itself.
      failing.remove([1]);
      await disk.fail({ calls: ['fsync'], path: 'events/journal.sqlite-wal', error: 'EIO', count: 1 });
      expect(() => failing.append(packed('c'))).toThrow('disk I/O error');
      expect(failing.metrics().fault).toBeUndefined();
      failing.append(packed('d'));
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
      failing.append(packed('a'));
      expect(failing.metrics().fault).toBeUndefined();
      await disk.fail({ calls: ['write'], path: 'events/**', error });
      expect(() => failing.append(packed('b'))).toThrow();
      for (let round = 0; round < 2; round++) expect(String(failing.metrics().fault)).toBe(fault);
      expect(() => failing.append(packed('b'))).toThrow();
      await disk.clear();
      expect(failing.metrics().fault).toBeUndefined();
      failing.append(packed('c'));
      const found = textsIn(join(await disk.survivor(), 'events'));
      failing.close();
      expect(found).toEqual(['a', 'c']);
    });
  },
);
