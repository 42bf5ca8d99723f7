// GET /v1/metadata/{workspace_id}/{document}/detail: a document by its id or by its name, whatever the name.

import { describe, expect, test } from 'bun:test';
import { expectRefusal, expectStatus } from '../support/caller.ts';
import { freshName } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';
import { titleOf } from '../support/title.ts';

/** Names that mean something to URLs, file systems, shells, databases or fonts. */
const ODD_NAMES = [
  'folder/sub folder/file.txt',
  '/leading and trailing/',
  '//',
  ' blanks around ',
  '100%.txt',
  '%41%2F%zz',
  'what?.txt',
  'part#1.txt',
  'a=b&c=d;e+f.txt',
  '...',
  '.hidden',
  '..hidden',
  '../../etc/passwd',
  './here',
  'back\\slash',
  `'; DROP TABLE documents; --`,
  '"quoted" \'twice\'',
  '{"json": [1]}',
  '{file_name}',
  ':file',
  '*',
  '~',
  'Ünïcödé 日本語 עברית',
  '😀👩‍👩‍👧‍👦.txt',
  'e\u0301 is not é',
  '\u202Etxt.exe',
  'line\nbreak\ttab\u0001',
  'detail',
  'list',
  'archive',
  'null',
  'x'.repeat(512),
  '😀'.repeat(512),
];

export function describeNames(setting: () => Setting): void {
  describe('a document by its name', () => {
    test.each(ODD_NAMES.map((name) => [titleOf(name), name]))('%s', async (_title, name) => {
      const { library } = await setting().people.person();
      const record = await library.stored({ name });
      expect(record.name).toBe(name);
      expect(await library.read(name)).toEqual(record);
      expect(await library.read(record.id)).toEqual(record);
      expectStatus(await library.patch(name, { summary: 'by name' }), 200);
      expectStatus(await library.archive(name), 200);
      expectStatus(await library.unarchive(name), 200);
      expect(await library.read(name)).toEqual({ ...record, summary: 'by name' });
    });

    test('is matched exactly: no other case, no trimming, no normal form', async () => {
      const { library } = await setting().people.person();
      const { name } = await library.stored({ name: freshName('\u00e9-File.txt') });
      for (const other of [
        name.toUpperCase(),
        ` ${name}`,
        `${name} `,
        name.normalize('NFD'),
        name.slice(0, -1),
      ])
        expectRefusal(await library.detail(other), 404);
    });

    test('is found among namesakes: the newest that the caller sees', async () => {
      const { people } = setting();
      const [one, other] = [await people.person(), await people.person()];
      const name = freshName();
      const first = await one.library.stored({ name, status: 'public' });
      const second = await one.library.stored({ name });
      expect((await one.library.read(name)).id).toBe(second.id);
      expect((await other.library.read(name)).id).toBe(first.id);
      const third = await other.library.stored({ name });
      expect((await other.library.read(name)).id).toBe(third.id);
      expect((await one.library.read(name)).id).toBe(second.id);
    });

    test('is found among namesakes: the newest that the operation can act on', async () => {
      const { people } = setting();
      const [one, other] = [await people.person(), await people.person()];
      const name = freshName();
      const mine = await one.library.stored({ name });
      const shown = await other.library.stored({ name, status: 'public' });
      expect((await one.library.read(name)).id).toBe(shown.id);

      expectStatus(await one.library.patch(name, { summary: 'mine' }), 200);
      expect((await one.library.read(mine.id)).summary).toBe('mine');
      expect((await one.library.read(shown.id)).summary).toBeNull();

      expectStatus(await one.library.archive(name), 200);
      expect((await one.library.archived()).items.map(({ id }) => id)).toContain(mine.id);
    });

    test('archives and un-archives one namesake after the other', async () => {
      const { library } = await setting().people.person();
      const name = freshName();
      const older = await library.stored({ name });
      const newer = await library.stored({ name });
      const idsArchived = async () => (await library.archived()).items.map(({ id }) => id).sort();
      expectStatus(await library.archive(name), 200);
      expect(await idsArchived()).toEqual([newer.id]);
      expectStatus(await library.archive(name), 200);
      expect(await idsArchived()).toEqual([older.id, newer.id].sort());
      expectStatus(await library.unarchive(name), 200);
      expect(await idsArchived()).toEqual([older.id]);
    });

    test('does not stand in the way of a new upload of the same name when it is binned', async () => {
      const { library } = await setting().people.person();
      const name = freshName();
      const old = await library.stored({ name });
      expectStatus(await library.bin(old.id), 204);
      expect((await library.read(name)).id).toBe(old.id);
      const fresh = await library.stored({ name });
      expect((await library.read(name)).id).toBe(fresh.id);
      expectStatus(await library.restore(old.id), 200);
      expect((await library.read(name)).id).toBe(fresh.id);
    });

    test('shaped like a UUID is tried as an id first, then as a name', async () => {
      const { library } = await setting().people.person();
      const shaped = crypto.randomUUID();
      const named = await library.stored({ name: shaped });
      expect((await library.read(shaped)).id).toBe(named.id);
      expectRefusal(await library.detail(shaped.toUpperCase()), 404);

      const target = await library.stored({ name: 'target.txt' });
      const shadow = await library.stored({ name: target.id });
      expect((await library.read(target.id)).id).toBe(target.id);
      expect((await library.read(target.id.toUpperCase())).id).toBe(target.id);
      expectStatus(await library.patch(target.id, { summary: 'the one with the id' }), 200);
      expect((await library.read(target.id)).summary).toBe('the one with the id');
      expect((await library.read(shadow.id)).summary).toBeNull();
    });

    test('shaped like the id of a document that the caller cannot see is still found as a name', async () => {
      const { people } = setting();
      const [one, other] = [await people.person(), await people.person()];
      const hidden = await one.library.stored();
      const named = await other.library.stored({ name: hidden.id });
      expect((await other.library.read(hidden.id)).id).toBe(named.id);
    });

    test('is not found with 404, neither in another workspace nor before it exists', async () => {
      const { admin } = setting();
      const stranger = await (await setting().elsewhere()).people.person();
      const { id, name } = await admin.stored({ status: 'public' });
      for (const reference of [id, name]) expectRefusal(await stranger.library.detail(reference), 404);
      for (const reference of [freshName(), crypto.randomUUID()])
        expectRefusal(await admin.detail(reference), 404);
    });
  });
}
