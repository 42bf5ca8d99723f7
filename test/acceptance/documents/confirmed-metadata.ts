// What a confirm makes of its payload: folder, extension, status, owner, and the fields that the store decides.

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectRefusal } from '../support/caller.ts';
import { type DocumentRecord, freshName, md5 } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';
import { titleOf } from '../support/title.ts';

/** In segments that any file system can hold: some stores keep folders as directories. */
const FOLDER_OF_512_BYTES = ['x'.repeat(255), 'y'.repeat(254), 'z'].join('/');

/** Given folder → what stands between workspace and id in the key. */
const FOLDERS: [given: string | null | undefined, prefix: string][] = [
  [undefined, ''],
  [null, ''],
  ['', ''],
  ['/', ''],
  ['//', ''],
  ['plain', 'plain/'],
  ['/outer/', 'outer/'],
  ['//a///b//', 'a/b/'],
  ['with blank/ü/日本', 'with blank/ü/日本/'],
  ['...', '.../'],
  ['.hidden/..x', '.hidden/..x/'],
  ['100%/a+b/c?d#e&f', '100%/a+b/c?d#e&f/'],
  [FOLDER_OF_512_BYTES, `${FOLDER_OF_512_BYTES}/`],
];

const REFUSED_FOLDERS = [
  '.',
  '..',
  'a/../b',
  './a',
  'a/.',
  'tab\there',
  'new\nline',
  'del\u007f',
  'c1\u0085',
  'no XML\ufffe',
  '\uffff',
  `${FOLDER_OF_512_BYTES}x`,
  'ü/'.repeat(172),
];

export function describeConfirmedMetadata(setting: () => Setting): void {
  describe('the confirmed metadata', () => {
    test('are kept as they were given', async () => {
      const given = {
        name: freshName(),
        tags: ['b', 'a', 'a', 'Ä'],
        categories: [],
        summary: 'Zeile 1\nZeile 2\t„Ende“ \\ "',
        slots: { revision: 7, nested: { list: [1, null, true, 'x', {}] }, empty: [] },
        access: { curators: ['Cora@Example.com'], note: 'free-form' },
      };
      const record = await setting().admin.stored(given);
      expect(record).toMatchObject(given);
      expect(await setting().admin.read(record.id)).toEqual(record);
    });

    test('may be null wherever the record may', async () => {
      const optional = [
        'tags',
        'categories',
        'summary',
        'slots',
        'access',
        'status',
        'owner_id',
        'storage_url',
      ];
      const stored = ['created_at', 'file_size', 'file_type', 'file_hash'];
      const nulls = Object.fromEntries([...optional, ...stored].map((field) => [field, null]));
      const record = await setting().admin.stored(nulls, 'some text', null);
      expect(record).toMatchObject({
        tags: null,
        categories: null,
        summary: null,
        slots: null,
        access: null,
      });
      expect(record).toMatchObject({
        status: 'private',
        file_size: 9,
        file_type: 'txt',
        file_hash: md5('some text'),
      });
    });

    test('never override what the store says', async () => {
      const claimed = {
        storage_url: 's3://elsewhere/secret.txt',
        created_at: '1999-01-01T00:00:00Z',
        file_size: 1,
        file_type: 'exe',
        file_hash: '0'.repeat(32),
      };
      const record = await setting().admin.stored({ name: 'true.txt', ...claimed }, 'true content');
      expect(record).toMatchObject({ file_size: 12, file_type: 'txt', file_hash: md5('true content') });
      expect(record.storage_url).not.toContain('elsewhere');
      expect(Math.abs(Date.parse(record.created_at) - Date.now())).toBeLessThan(600_000);
    });

    test.each(FOLDERS.map(([folder, prefix]) => [titleOf(folder), folder, prefix] as const))(
      'folder %s becomes a prefix',
      async (_title, folder, prefix) => {
        const { admin, workspace } = setting();
        const record = await admin.stored({ name: 'in folder.txt' }, 'filed', folder);
        expect(record.storage_url.split('/').slice(3).join('/')).toBe(
          `${workspace}/${prefix}${record.id}.txt`,
        );
        expect(await (await fetch(await admin.link(record.id))).text()).toBe('filed');
      },
    );

    test.each(REFUSED_FOLDERS.map((folder) => [titleOf(folder), folder]))(
      'folder %s is refused with 422',
      async (_title, folder) => {
        const { admin } = setting();
        const body = { temp_key: await admin.uploaded(), folder, document_metadata: { name: 'a.txt' } };
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await admin.confirm(body), 422);
        expect(detail.map(({ loc }) => loc)).toEqual([['body', 'folder']]);
      },
    );

    test.each([
      ['a.txt', 'txt'],
      ['A.PDF', 'pdf'],
      ['archive.tar.gz', 'gz'],
      ['.bashrc', 'bashrc'],
      ['a.abcdefghijklmnop', 'abcdefghijklmnop'],
      ['a.1', '1'],
      ['README', null],
      ['dot at end.', null],
      ['a.b c', null],
      ['a.tür', null],
      ['a.abcdefghijklmnopq', null],
      ['folder.d/file', null],
    ])('name %p has the extension %p', async (name, extension) => {
      const record = await setting().admin.stored({ name });
      expect(record.file_type).toBe(extension);
      const last = record.storage_url.split('/').at(-1);
      expect(last).toBe(extension === null ? record.id : `${record.id}.${extension}`);
    });

    test.each(['.', '..'])('name %p is refused with 422, because no URL can hold it', async (name) => {
      const { admin } = setting();
      const body = { temp_key: await admin.uploaded(), document_metadata: { name } };
      const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await admin.confirm(body), 422);
      expect(detail.map(({ loc }) => loc)).toEqual([['body', 'document_metadata', 'name']]);
    });

    test("status is 'private' unless it is given as 'public'; 'deleted' is refused with 422", async () => {
      const { admin } = setting();
      expect((await admin.stored()).status).toBe('private');
      expect((await admin.stored({ status: 'private' })).status).toBe('private');
      expect((await admin.stored({ status: 'public' })).status).toBe('public');
      const body = {
        temp_key: await admin.uploaded(),
        document_metadata: { name: 'a.txt', status: 'deleted' },
      };
      const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await admin.confirm(body), 422);
      expect(detail.map(({ loc }) => loc)).toEqual([['body', 'document_metadata', 'status']]);
    });

    test('the owner is whoever confirms; one owner has many keys', async () => {
      const { people } = setting();
      const one = await people.person();
      const sameOwner = await people.person({ email: one.email.toUpperCase() });
      const [first, second] = [await one.library.stored(), await sameOwner.library.stored()];
      expect(first.owner_id).toBe(second.owner_id);
      expect((await (await people.person()).library.stored()).owner_id).not.toBe(first.owner_id);
    });

    test('owner_id: administrators may name another user of the workspace, others only themselves', async () => {
      const { admin, people } = setting();
      const [one, other] = [await people.person(), await people.person()];
      const { owner_id: oneId } = await one.library.stored();
      const { owner_id: otherId } = await other.library.stored();

      const given = await admin.stored({ owner_id: oneId });
      expect(given.owner_id).toBe(oneId);
      expect((await one.library.read(given.id)).id).toBe(given.id);

      expect((await one.library.stored({ owner_id: oneId })).owner_id).toBe(oneId);
      const temp_key = await one.library.uploaded();
      const stolen = { temp_key, document_metadata: { name: 'a.txt', owner_id: otherId } };
      expectRefusal(await one.library.confirm(stolen), 403);
      const own = { temp_key, document_metadata: { name: 'a.txt', owner_id: oneId } };
      expect(bodyOf<DocumentRecord>(await one.library.confirm(own), 201).owner_id).toBe(oneId);
    });

    test('owner_id: nobody of the workspace is refused with 422', async () => {
      const { admin } = setting();
      const stranger = await (await setting().elsewhere()).people.person();
      const { owner_id: foreignId } = await stranger.library.stored();
      for (const owner_id of [crypto.randomUUID(), foreignId]) {
        const body = { temp_key: await admin.uploaded(), document_metadata: { name: 'a.txt', owner_id } };
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await admin.confirm(body), 422);
        expect(detail.map(({ loc }) => loc)).toEqual([['body', 'document_metadata', 'owner_id']]);
      }
    });
  });
}
