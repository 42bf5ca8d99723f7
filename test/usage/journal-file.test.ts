// The journal's promise of durability is a setting of its connection: it must hold at every append, whatever was before.

import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JournalFile, openJournalFile } from '../../src/usage/buffer/journal/journal-file.ts';

/** SQLite syncs the write-ahead log with every commit (https://sqlite.org/pragma.html#pragma_synchronous). */
const FULL = 2;

let directory: string;
let database: Database;
let journal: JournalFile;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-'));
  journal = openJournalFile(directory, 1_000_000, (path) => {
    database = new Database(path, { create: true });
    return database;
  });
});
afterEach(() => {
  journal.close();
  rmSync(directory, { recursive: true, force: true });
});

const pragma = (name: string): unknown => database.query(`PRAGMA ${name}`).values()[0]?.[0];
const seqs = (): number[] => journal.read(0, { bytesMax: 1_000_000, packsMax: 100 }).map(({ seq }) => seq);

test('an append waits for the disk: the first, those after removals, and those after one that failed', () => {
  expect([pragma('journal_mode'), pragma('synchronous')]).toEqual(['wal', FULL]);
  for (let round = 0; round < 3; round++) {
    journal.append([Buffer.from('a'), Buffer.from('b')]);
    expect(pragma('synchronous')).toBe(FULL);
    journal.remove(seqs());
    expect(pragma('synchronous')).toBe(FULL);
  }
  journal.append([Buffer.from('c')]);
  database.run('PRAGMA query_only = ON');
  expect(() => journal.remove(seqs())).toThrow('readonly');
  database.run('PRAGMA query_only = OFF');
  expect([pragma('synchronous'), seqs().length]).toEqual([FULL, 1]);
});

test('a journal of a newer version is refused, and left as it is', () => {
  journal.append([Buffer.from('a')]);
  database.run('PRAGMA user_version = 1');
  expect(() => openJournalFile(directory, 1_000_000)).toThrow('it is of a newer version of Atrium');
  expect([pragma('user_version'), seqs()]).toEqual([1, [1]]);
});
