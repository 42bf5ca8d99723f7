// PUT /v1/metadata/{workspace_id}/{document}

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { type DocumentRecord, freshName, md5 } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';

const FILLED = {
  tags: ['one', 'two'],
  categories: ['three'],
  summary: 'A summary',
  slots: { revision: 1 },
  access: { curators: ['cora@example.com'] },
};

const PATCHES: [field: string, value: unknown][] = [
  ['name', 'renamed file.md'],
  ['tags', ['new']],
  ['tags', []],
  ['tags', null],
  ['categories', ['x', 'y']],
  ['categories', []],
  ['categories', null],
  ['access', { curators: ['new@example.com'], more: { deep: true } }],
  ['access', {}],
  ['access', null],
  ['slots', { other: ['value'] }],
  ['slots', {}],
  ['slots', null],
  ['file_hash', 'e2fc714c4727ee9395f324cd2e7f331f'],
  ['file_hash', 'any text'],
  ['file_hash', null],
  ['file_size', 0],
  ['file_size', 5_000_000_000],
  ['file_size', null],
  ['summary', 'Another\nsummary'],
  ['summary', ''],
  ['summary', null],
  ['status', 'public'],
  ['status', 'private'],
];

export function describePatch(setting: () => Setting): void {
  describe('changing metadata', () => {
    test.each(PATCHES)('sets %s to %j and leaves everything else', async (field, value) => {
      const { library } = await setting().people.person();
      const record = await library.stored(FILLED);
      const changed = bodyOf<DocumentRecord>(await library.patch(record.id, { [field]: value }), 200);
      expect(changed).toEqual({ ...record, [field]: value } as DocumentRecord);
      expect(await library.read(record.id)).toEqual(changed);
    });

    test('sets several fields at once, and none with an empty body', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored(FILLED);
      expect(bodyOf<DocumentRecord>(await library.patch(record.id, {}), 200)).toEqual(record);
      const patch = {
        name: 'all.txt',
        tags: null,
        categories: ['c'],
        summary: 's',
        slots: { a: 1 },
        access: null,
        file_size: 1,
        file_hash: 'h',
      };
      expect(bodyOf<DocumentRecord>(await library.patch(record.id, patch), 200)).toEqual({
        ...record,
        ...patch,
      });
    });

    test('by the name; the document then has the new name', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored();
      const renamed = freshName();
      const changed = bodyOf<DocumentRecord>(await library.patch(record.name, { name: renamed }), 200);
      expect(changed).toEqual({ ...record, name: renamed });
      expectRefusal(await library.detail(record.name), 404);
      expect(await library.read(renamed)).toEqual(changed);
    });

    test('leaves what it cannot change: id, location, times, type', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored();
      const ignored = {
        id: crypto.randomUUID(),
        owner_id: record.owner_id.toUpperCase(),
        storage_url: 's3://x/y',
        created_at: '1999-01-01T00:00:00Z',
        file_type: 'exe',
        unknown: true,
      };
      expect(bodyOf<DocumentRecord>(await library.patch(record.id, ignored), 200)).toEqual(record);
    });

    test('leaves the file alone, whatever size and hash are set', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored({}, 'untouched');
      expectStatus(await library.patch(id, { name: 'other.bin', file_size: 1, file_hash: md5('else') }), 200);
      expect(await (await fetch(await library.link(id))).text()).toBe('untouched');
    });

    test('cannot clear the name, nor set one that no URL can hold', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored();
      for (const name of [null, '', '.', '..', 'x'.repeat(513)]) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await library.patch(id, { name }), 422);
        expect(detail.map(({ loc }) => loc)).toEqual([['body', 'name']]);
      }
    });

    test('is refused with 404 for an id or name that does not exist', async () => {
      for (const reference of [crypto.randomUUID(), freshName()])
        expectRefusal(await setting().admin.patch(reference, { summary: 'x' }), 404);
    });

    test('is for owner, curators and admins; others who see the document get 403, who do not 404', async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const access = { curators: [` ${curator.email.toUpperCase()} `.trim()] };
      const shown = await owner.library.stored({ status: 'public', access });
      const hidden = await owner.library.stored({ access });
      for (const { id } of [shown, hidden]) {
        for (const library of [owner.library, curator.library, admin])
          expectStatus(await library.patch(id, { summary: 'edited' }), 200);
      }
      expectRefusal(await other.library.patch(shown.id, { summary: 'mine now' }), 403);
      expectRefusal(await other.library.patch(hidden.id, { summary: 'mine now' }), 404);
      for (const { id } of [shown, hidden]) expect((await owner.library.read(id)).summary).toBe('edited');
    });

    test('of access is for owner and admins: a curator cannot add others, nor leave', async () => {
      const { admin, people } = setting();
      const [owner, curator] = [await people.person(), await people.person()];
      const { id } = await owner.library.stored({ access: { curators: [curator.email] } });
      for (const access of [null, { curators: [] }, { curators: [curator.email, 'friend@example.com'] }])
        expectRefusal(await curator.library.patch(id, { summary: 'and access', access }), 403);
      expect(await owner.library.read(id)).toMatchObject({
        summary: null,
        access: { curators: [curator.email] },
      });
      expectStatus(await admin.patch(id, { access: { curators: [] } }), 200);
      expectRefusal(await curator.library.patch(id, { summary: 'too late' }), 404);
    });

    test('of status publishes a document and takes it back, for owner and admins; a curator gets 403', async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const { id, name } = await owner.library.stored({ access: { curators: [curator.email] } });
      const finds = async () => {
        const path = `/v1/filter/${setting().workspace}?name=eq:${name}`;
        return bodyOf<{ total: number }>(await setting().call('GET', path, { key: other.key }), 200).total;
      };
      for (const status of ['public', 'private']) {
        expect(expectRefusal(await curator.library.patch(id, { status }), 403)).toContain('status');
        expectStatus(await other.library.patch(id, { status }), 404);
      }
      expect(await finds()).toBe(0);
      for (const library of [owner.library, admin]) {
        expect(bodyOf<DocumentRecord>(await library.patch(id, { status: 'public' }), 200).status).toBe(
          'public',
        );
        expect((await other.library.read(id)).status).toBe('public');
        expect(await finds()).toBe(1);
        expectStatus(await other.library.patch(id, { status: 'private' }), 403);
        expectStatus(await library.patch(id, { status: 'private' }), 200);
        expectRefusal(await other.library.detail(id), 404);
        expect(await finds()).toBe(0);
      }
    });

    test('cannot bin a document, nor give it a status that there is not: 422', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored();
      for (const status of ['deleted', 'PUBLIC', '', null, 1]) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(
          await library.patch(record.id, { summary: 'x', status }),
          422,
        );
        expect(detail.map(({ loc }) => loc)).toEqual([['body', 'status']]);
      }
      expect(await library.read(record.id)).toEqual(record);
    });

    test('of the owner is for admins, and to people of the workspace; the same one is no change', async () => {
      const { admin, people } = setting();
      const [owner, heir] = [await people.person(), await people.person()];
      const { owner_id: heirId } = await heir.library.stored();
      const record = await owner.library.stored({ name: freshName(), access: { curators: [heir.email] } });
      for (const { library } of [owner, heir])
        expectRefusal(await library.patch(record.id, { owner_id: heirId, summary: 'x' }), 403);
      expectStatus(await heir.library.patch(record.id, { owner_id: record.owner_id }), 200);
      expect(await owner.library.read(record.id)).toEqual(record);
      for (const owner_id of [crypto.randomUUID(), 'nobody', null]) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(
          await admin.patch(record.id, { owner_id }),
          422,
        );
        expect(detail.map(({ loc }) => loc)).toEqual([['body', 'owner_id']]);
      }
      const patch = { owner_id: heirId, access: null };
      const inherited = bodyOf<DocumentRecord>(await admin.patch(record.id, patch), 200);
      expect(inherited).toEqual({ ...record, ...patch });
      expectRefusal(await owner.library.detail(record.id), 404);
      const path = `/v1/filter/${setting().workspace}?name=eq:${record.name}&owner_id=eq:${heirId}`;
      const found = bodyOf<{ items: DocumentRecord[] }>(
        await setting().call('GET', path, { key: heir.key }),
        200,
      );
      expect(found.items).toEqual([inherited]);
      expectStatus(await heir.library.bin(record.id), 204);
    });

    test('is refused with 409 in the bin, to those who may see it there', async () => {
      const { admin, people } = setting();
      const [owner, curator] = [await people.person(), await people.person()];
      const { id, name } = await owner.library.stored({
        status: 'public',
        access: { curators: [curator.email] },
      });
      expectStatus(await owner.library.bin(id), 204);
      for (const library of [owner.library, admin]) {
        for (const reference of [id, name])
          expectRefusal(await library.patch(reference, { summary: 'x' }), 409);
      }
      expectRefusal(await curator.library.patch(id, { summary: 'x' }), 404);
    });

    test('from many sides at once loses none of the fields', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored();
      const patches = [
        { tags: ['a'] },
        { categories: ['b'] },
        { summary: 'c' },
        { slots: { d: 1 } },
        { file_hash: 'e' },
      ];
      const answers = await Promise.all(patches.map((patch) => library.patch(id, patch)));
      for (const answer of answers) expectStatus(answer, 200);
      expect(await library.read(id)).toMatchObject(Object.assign({}, ...patches));
    });
  });
}
