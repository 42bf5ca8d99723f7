// The faulty disk of the tests does what it says.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';

const PAGE = 4096;
const missing = missingFaultyDisk();

const sync = (path: string): void => {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
};
const write = (path: string, text: string, flag = 'w'): void => writeFileSync(path, text, { flag });
const writeDurably = (path: string, text: string): void => {
  write(path, text);
  sync(path);
  sync(join(path, '..'));
};
/** The page's letter, for each page. */
const lettersOf = (path: string): string =>
  Array.from({ length: statSync(path).size / PAGE }, (_, page) =>
    String.fromCharCode(readFileSync(path)[page * PAGE] ?? 0),
  ).join('');
const pages = (letters: string): string => [...letters].map((letter) => letter.repeat(PAGE)).join('');

describe.skipIf(missing !== undefined)(
  missing === undefined ? 'the faulty disk' : `the faulty disk (${missing})`,
  () => {
    test('keeps through a power cut what was synced, and nothing else', async () => {
      await using disk = await mountFaultyDisk();
      const at = (name: string) => join(disk.path, name);
      writeDurably(at('synced'), 'kept');
      write(at('synced'), ' and more', 'a');
      write(at('content alone'), 'kept, but without a name');
      sync(at('content alone'));
      write(at('nothing'), 'in the page cache');
      mkdirSync(at('folder'));
      writeDurably(at('folder/file'), 'in a folder without a name');
      expect(readFileSync(at('synced'), 'utf8')).toBe('kept and more');

      const found = await disk.survivor();
      expect(readdirSync(found)).toEqual(['synced']);
      expect(readFileSync(join(found, 'synced'), 'utf8')).toBe('kept');

      // A name alone: the file is there, without what was never synced.
      sync(disk.path);
      const later = await disk.survivor();
      expect(readdirSync(later).sort()).toEqual(['content alone', 'folder', 'nothing', 'synced']);
      expect(readFileSync(join(later, 'content alone'), 'utf8')).toBe('kept, but without a name');
      expect(readFileSync(join(later, 'nothing'), 'utf8')).toBe('');
      expect(readFileSync(join(later, 'folder/file'), 'utf8')).toBe('in a folder without a name');
    });

    test('undoes a rename or a removal whose folder was not synced, a rename as a whole', async () => {
      await using disk = await mountFaultyDisk();
      const at = (name: string) => join(disk.path, name);
      for (const folder of ['from', 'to']) mkdirSync(at(folder));
      sync(disk.path);
      writeDurably(at('from/a'), 'a');
      writeDurably(at('from/b'), 'b');
      writeDurably(at('to/b'), 'old b');
      renameSync(at('from/a'), at('to/a'));
      renameSync(at('from/b'), at('to/b'));
      rmSync(at('to/a'));
      const undone = await disk.survivor();
      expect(readdirSync(join(undone, 'from')).sort()).toEqual(['a', 'b']);
      expect(readFileSync(join(undone, 'to/b'), 'utf8')).toBe('old b');

      sync(at('to'));
      const done = await disk.survivor();
      expect(readdirSync(join(done, 'from'))).toEqual([]);
      expect(readdirSync(join(done, 'to'))).toEqual(['b']);
      expect(readFileSync(join(done, 'to/b'), 'utf8')).toBe('b');
    });

    test('keeps a name with its file where it is told so, as journalling file systems do', async () => {
      await using disk = await mountFaultyDisk({ namesWithFiles: 'journalling/**' });
      for (const folder of ['journalling', 'strict']) {
        mkdirSync(join(disk.path, folder));
        write(join(disk.path, folder, 'file'), 'kept');
        sync(join(disk.path, folder, 'file'));
      }
      // Their own names do not match.
      expect(readdirSync(await disk.survivor())).toEqual([]);
      sync(disk.path);
      const found = await disk.survivor();
      expect(readFileSync(join(found, 'journalling/file'), 'utf8')).toBe('kept');
      expect(readdirSync(join(found, 'strict'))).toEqual([]);
    });

    test('knows mapped memory, fdatasync, synchronous writes and truncation', async () => {
      await using disk = await mountFaultyDisk();
      const at = (name: string) => join(disk.path, name);
      write(at('mapped'), pages('aa'));
      const file = openSync(at('mapped'), 'r+');
      const mapped = Bun.mmap(at('mapped'), { shared: true });
      mapped.fill('b'.charCodeAt(0), 0, PAGE);
      fsyncSync(file);
      mapped.fill('c'.charCodeAt(0), PAGE);
      const synchronous = openSync(at('synchronous'), 'as');
      writeSync(synchronous, 'kept');
      const cut = openSync(at('cut'), 'w+');
      writeSync(cut, pages('abc'));
      fdatasyncSync(cut);
      ftruncateSync(cut, PAGE);
      sync(disk.path);

      const found = await disk.survivor();
      expect(lettersOf(join(found, 'mapped'))).toBe('ba');
      expect(readFileSync(join(found, 'synchronous'), 'utf8')).toBe('kept');
      expect(lettersOf(join(found, 'cut'))).toBe('abc');
      fdatasyncSync(cut);
      fsyncSync(file);
      const later = await disk.survivor();
      expect(lettersOf(join(later, 'mapped'))).toBe('bc');
      expect(lettersOf(join(later, 'cut'))).toBe('a');
      for (const descriptor of [file, synchronous, cut]) closeSync(descriptor);
    });

    test('with a seed lets some of what was not synced through, and the same again for the same seed', async () => {
      await using disk = await mountFaultyDisk();
      const at = (name: string) => join(disk.path, name);
      writeDurably(at('torn'), pages('aaaa'));
      const file = openSync(at('torn'), 'r+');
      writeSync(file, pages('bbbb'), 0);
      for (const name of ['1', '2', '3']) write(at(name), '');
      const seen = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const found = await disk.survivor(index + 1);
          return { letters: lettersOf(join(found, 'torn')), names: readdirSync(found).sort().join(' ') };
        }),
      );
      const letters = new Set(seen.map((each) => each.letters));
      expect(letters).toContain('aaaa');
      expect(letters).toContain('bbbb');
      expect([...letters].some((each) => /a/.test(each) && /b/.test(each))).toBeTrue();
      // Steps of a folder come in order.
      expect([...new Set(seen.map(({ names }) => names))].sort()).toEqual([
        '1 2 3 torn',
        '1 2 torn',
        '1 torn',
        'torn',
      ]);
      const again = await disk.survivor(7);
      expect(lettersOf(join(again, 'torn'))).toBe(seen[6]?.letters ?? '');
      closeSync(file);
    });

    test('notices whether a database syncs its commits', async () => {
      for (const { synchronous, kept } of [
        { synchronous: 'FULL', kept: 3 },
        { synchronous: 'OFF', kept: 0 },
      ]) {
        await using disk = await mountFaultyDisk();
        const database = new Database(join(disk.path, 'a.sqlite'));
        database.run('PRAGMA journal_mode = WAL');
        database.run('PRAGMA synchronous = FULL');
        database.run('CREATE TABLE rows (id)');
        database.run(`PRAGMA synchronous = ${synchronous}`);
        sync(disk.path);
        for (let id = 0; id < 3; id++) database.run('INSERT INTO rows VALUES (?)', [id]);
        using found = new Database(join(await disk.survivor(), 'a.sqlite'));
        expect(found.query('SELECT count(*) AS count FROM rows').get()).toEqual({ count: kept });
        database.close();
      }
    });

    test('begins with a folder, which is durable, and fails every call after the cut', async () => {
      await using first = await mountFaultyDisk();
      mkdirSync(join(first.path, 'folder'));
      write(join(first.path, 'folder/file'), 'kept');
      await using disk = await mountFaultyDisk({ from: first.path });
      const file = await open(join(disk.path, 'folder/file'), 'r+');
      await disk.cut();
      const codeOf = (call: Promise<unknown>): Promise<string> =>
        call.then(
          () => 'done',
          (error: NodeJS.ErrnoException) => error.code ?? 'none',
        );
      const codes = await Promise.all([
        codeOf(file.write('x')),
        codeOf(file.sync()),
        codeOf(readFile(join(disk.path, 'folder/file'))),
        codeOf(writeFile(join(disk.path, 'new'), '')),
        codeOf(rename(join(disk.path, 'folder'), join(disk.path, 'other'))),
      ]);
      expect(codes).toEqual(['EIO', 'EIO', 'EIO', 'EIO', 'EIO']);
      await codeOf(file.close());
      expect(readFileSync(join(await disk.survivor(), 'folder/file'), 'utf8')).toBe('kept');
    });

    test('lets calls go wrong by name and path, as often as is said, until that ends', async () => {
      await using disk = await mountFaultyDisk();
      const at = (name: string) => join(disk.path, name);
      mkdirSync(at('folder'));
      await disk.fail({ calls: ['write'], path: 'folder/*.log', error: 'ENOSPC', count: 1 });
      write(at('a.log'), '');
      expect(() => write(at('folder/a.log'), 'x')).toThrow('ENOSPC');
      write(at('folder/a.log'), 'x');
      await disk.fail({ calls: ['fsync'], path: '**', error: 'EIO' });
      expect(() => sync(at('folder/a.log'))).toThrow('EIO');
      expect(() => sync(disk.path)).toThrow('EIO');
      // A page that the kernel has kept is not read from there.
      await disk.fail({ calls: ['read'], path: '**/*.log', error: 'EIO' });
      expect(() => readFileSync(at('folder/a.log'))).toThrow('EIO');
      await disk.clear();
      sync(at('folder/a.log'));
      await disk.readOnly();
      expect(readFileSync(at('folder/a.log'), 'utf8')).toBe('x');
      expect(() => write(at('new'), '')).toThrow('EROFS');
      expect(() => rmSync(at('folder/a.log'))).toThrow('EROFS');
      await disk.clear();
      rmSync(at('folder/a.log'));
      expect(existsSync(at('folder/a.log'))).toBeFalse();
      await expect(disk.fail({ error: 'ENONSENSE' })).rejects.toThrow('ENONSENSE');
    });

    test('lets calls wait; one that hangs goes on afterwards, or ends with its process', async () => {
      await using disk = await mountFaultyDisk();
      const path = join(disk.path, 'file');
      await disk.delay({ calls: ['write'], ms: 50 });
      const start = performance.now();
      await writeFile(path, 'late');
      expect(performance.now() - start).toBeGreaterThan(45);
      await disk.clear();

      await disk.hang({ calls: ['open'], path: 'file' });
      let answered = false;
      const reading = readFile(path, 'utf8').finally(() => {
        answered = true;
      });
      const child = startChild(['cat', path]);
      await Bun.sleep(100);
      expect(answered).toBeFalse();
      child.kill('SIGKILL');
      await child.exited;
      await disk.clear();
      expect(await reading).toBe('late');
    });

    test('serves on while a mapped page cannot be written, and is gone at the end all the same', async () => {
      const disk = await mountFaultyDisk();
      const path = join(disk.path, 'mapped');
      write(path, pages('a'));
      const mapped = Bun.mmap(path, { shared: true });
      await disk.hang({ calls: ['write'] });
      mapped.fill('b'.charCodeAt(0));
      await disk.fail({ calls: ['read'], path: 'other', error: 'EIO' });
      await disk.clear();
      await disk.hang({ calls: ['write'] });
      mapped.fill('c'.charCodeAt(0));
      await disk.fail({ calls: ['read'], path: 'other', error: 'EIO' });
      await disk[Symbol.asyncDispose]();
      expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(disk.path);
      expect(existsSync(disk.path)).toBeFalse();
    });

    test.skipIf(process.geteuid?.() !== 0)('another user has what it is given, and no more', async () => {
      await using disk: FaultyDisk = await mountFaultyDisk();
      mkdirSync(join(disk.path, 'closed'), { mode: 0o700 });
      const asNobody = (command: string) =>
        Bun.spawnSync(['setpriv', '--reuid', 'nobody', '--clear-groups', 'sh', '-c', command]).exitCode;
      expect(asNobody(`ls ${disk.path}`)).toBe(0);
      expect(asNobody(`ls ${disk.path}/closed`)).not.toBe(0);
      expect(asNobody(`touch ${disk.path}/x`)).not.toBe(0);
    });
  },
);
