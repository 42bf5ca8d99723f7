// POST /v1/metadata/{workspace_id}/archive/{file_name}, GET …/archive/list, POST …/un-archive/{file}

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { type DocumentRecord, freshName, nextMillisecond } from '../support/library.ts';
import { DOCUMENT_SCOPES } from '../support/people.ts';
import type { Setting } from '../support/setting.ts';

export function describeArchive(setting: () => Setting): void {
  describe('the archive', () => {
    test('takes a document by name and leaves its status, detail and download', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored();
      expect(bodyOf<DocumentRecord>(await library.archive(record.name), 200)).toEqual(record);
      expect(await library.read(record.name)).toEqual(record);
      expect(await (await fetch(await library.link(record.id))).text()).toBe('some text');
    });

    test('lists rows with archived_at and counts them', async () => {
      const { library } = await setting().people.person();
      expect(await library.archived()).toEqual({ items: [], count: 0 });
      const record = await library.stored();
      expectStatus(await library.archive(record.name), 200);
      const { items, count } = await library.archived();
      expect(count).toBe(1);
      expect(items).toEqual([{ ...record, archived_at: expect.stringMatching(/^\d{4}-.*Z$/) }]);
    });

    test('lists what was archived last first, in pages where it is long', async () => {
      const { library } = await setting().people.person();
      const records = await Promise.all(Array.from({ length: 5 }, () => library.stored()));
      for (const { name } of records) {
        expectStatus(await library.archive(name), 200);
        await nextMillisecond();
      }
      const newestFirst = records.map(({ id }) => id).toReversed();
      expect((await library.archived()).items.map(({ id }) => id)).toEqual(newestFirst);
      const first = await library.archived({ limit: 3 });
      const second = await library.archived({ limit: 3, cursor: first.next_cursor ?? '' });
      expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(newestFirst);
      expect([first.count, second.count, second.next_cursor]).toEqual([5, 5, undefined]);
    });

    test('gives a document back by name', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored({ status: 'public' });
      expectStatus(await library.archive(record.name), 200);
      expect(bodyOf<DocumentRecord>(await library.unarchive(record.name), 200)).toEqual(record);
      expect((await library.archived()).count).toBe(0);
      expect(await library.read(record.id)).toEqual(record);
    });

    test('takes and gives by id too', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored();
      expectStatus(await library.archive(id), 200);
      expect((await library.archived()).count).toBe(1);
      expectStatus(await library.unarchive(id), 200);
      expect((await library.archived()).count).toBe(0);
    });

    test('repeated requests change nothing, and the first time stays', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored();
      expectStatus(await library.archive(record.name), 200);
      const before = await library.archived();
      expect(bodyOf<DocumentRecord>(await library.archive(record.name), 200)).toEqual(record);
      expect(await library.archived()).toEqual(before);
      expectStatus(await library.unarchive(record.name), 200);
      expect(bodyOf<DocumentRecord>(await library.unarchive(record.name), 200)).toEqual(record);
    });

    test('does not know what does not exist: 404', async () => {
      const { admin } = setting();
      for (const reference of [freshName(), crypto.randomUUID()]) {
        expectRefusal(await admin.archive(reference), 404);
        expectRefusal(await admin.unarchive(reference), 404);
      }
    });

    test('is for owner, curators and admins; others who see the document get 403, who do not 404', async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const access = { curators: [curator.email] };
      const shown = await owner.library.stored({ status: 'public', access });
      const hidden = await owner.library.stored({ access });
      for (const { name } of [shown, hidden]) {
        for (const library of [owner.library, curator.library, admin]) {
          expectStatus(await library.archive(name), 200);
          expectStatus(await library.unarchive(name), 200);
        }
      }
      for (const operation of ['archive', 'unarchive'] as const) {
        expectRefusal(await other.library[operation](shown.name), 403);
        expectRefusal(await other.library[operation](hidden.name), 404);
      }
    });

    test('lists what the caller sees', async () => {
      // In a workspace of its own: everybody there sees what stays in the archive.
      const { people } = await setting().elsewhere();
      const { library: admin } = await people.person({ scopes: [...DOCUMENT_SCOPES, 'admin'] });
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const shown = await owner.library.stored({ status: 'public' });
      const hidden = await owner.library.stored({ access: { curators: [curator.email] } });
      for (const { name } of [shown, hidden]) expectStatus(await owner.library.archive(name), 200);
      const listed = async ({ archived }: typeof admin) => {
        const ids = (await archived()).items.map(({ id }) => id);
        return [shown, hidden].map(({ id }) => ids.includes(id));
      };
      expect(await listed(owner.library)).toEqual([true, true]);
      expect(await listed(curator.library)).toEqual([true, true]);
      expect(await listed(admin)).toEqual([true, true]);
      expect(await listed(other.library)).toEqual([true, false]);
    });

    test('keeps its documents while they are in the bin: 409 meanwhile, archived again once restored', async () => {
      const { library } = await setting().people.person();
      const { id, name } = await library.stored();
      expectStatus(await library.archive(name), 200);
      expectStatus(await library.bin(id), 204);
      expect((await library.archived()).count).toBe(0);
      expectRefusal(await library.archive(name), 409);
      expectRefusal(await library.unarchive(name), 409);
      expectStatus(await library.restore(id), 200);
      expect((await library.archived()).items.map((row) => row.id)).toEqual([id]);
    });
  });
}
