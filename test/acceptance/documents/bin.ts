// The bin: DELETE /v1/{workspace_id}/{file_id}, GET …/trash, POST …/restore/{file_id}

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { type DocumentRecord, nextMillisecond } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';

export function describeBin(setting: () => Setting): void {
  describe('the bin', () => {
    test('takes a document with 204 and shows it with deleted_at', async () => {
      const { library } = await setting().people.person();
      const record = await library.stored({ tags: ['kept'] });
      const answer = await library.bin(record.id);
      expect([answer.status, answer.text]).toEqual([204, '']);
      const { items, count } = await library.binned();
      expect(count).toBe(1);
      expect(items).toEqual([
        { ...record, status: 'deleted', deleted_at: expect.stringMatching(/^\d{4}-.*Z$/) },
      ]);
      expect(Date.parse(items[0]?.deleted_at ?? '')).toBeGreaterThanOrEqual(Date.parse(record.created_at));
    });

    test('is empty at first', async () => {
      const { library } = await setting().people.person();
      expect(await library.binned()).toEqual({ items: [], count: 0 });
    });

    test('lists what was binned last first, whatever is older', async () => {
      const { library } = await setting().people.person();
      const records: DocumentRecord[] = [];
      for (let index = 0; index < 4; index++) records.push(await library.stored());
      const order = [2, 0, 3, 1].flatMap((index) => records[index]?.id ?? []);
      for (const id of order) {
        expectStatus(await library.bin(id), 204);
        await nextMillisecond();
      }
      expect((await library.binned()).items.map(({ id }) => id)).toEqual(order.toReversed());
    });

    test('is given in pages where it is long; count tells all of it', async () => {
      const { library } = await setting().people.person();
      const records = await Promise.all(Array.from({ length: 5 }, () => library.stored()));
      for (const { id } of records) expectStatus(await library.bin(id), 204);
      const whole = await library.binned();
      expect(whole.next_cursor).toBeUndefined();
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await library.binned({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.count).toBe(5);
        paged.push(...page.items.map(({ id }) => id));
        cursor = page.next_cursor;
      } while (cursor !== undefined);
      expect(paged).toEqual(whole.items.map(({ id }) => id));
    });

    test('pages neither repeat nor skip rows when others come and go meanwhile', async () => {
      const { library } = await setting().people.person();
      const records = await Promise.all(Array.from({ length: 4 }, () => library.stored()));
      for (const { id } of records) {
        expectStatus(await library.bin(id), 204);
        await nextMillisecond();
      }
      const order = records.map(({ id }) => id).toReversed();
      const first = await library.binned({ limit: 2 });
      expectStatus(await library.bin((await library.stored()).id), 204);
      expectStatus(await library.restore(order[1] ?? ''), 200);
      const second = await library.binned({ limit: 2, cursor: first.next_cursor ?? '' });
      expect(second.items.map(({ id }) => id)).toEqual(order.slice(2));
    });

    test('refuses a cursor that no page gave with 422', async () => {
      const { library } = await setting().people.person();
      for (const cursor of ['x', 'MTIz', btoa('1:not-an-id')]) {
        const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(await library.trash({ cursor }), 422);
        expect(detail.map(({ loc }) => loc)).toEqual([['query', 'cursor']]);
      }
      expect(await library.binned({ cursor: '' })).toEqual({ items: [], count: 0 });
    });

    test.each(['public', 'private'] as const)('gives a %s document back as it was', async (status) => {
      const { library } = await setting().people.person();
      const record = await library.stored({ status, slots: { a: 1 } });
      expectStatus(await library.bin(record.id), 204);
      expect(bodyOf<DocumentRecord>(await library.restore(record.id), 200)).toEqual(record);
      expect(await library.read(record.id)).toEqual(record);
      expect((await library.binned()).count).toBe(0);
      expect(await (await fetch(await library.link(record.id))).text()).toBe('some text');
    });

    test('can be entered and left again and again', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored({ status: 'public' });
      for (let round = 0; round < 3; round++) {
        expectStatus(await library.bin(id), 204);
        expectStatus(await library.restore(id), 200);
      }
      expect((await library.read(id)).status).toBe('public');
    });

    test('takes a document once: the second time is 404', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored();
      expectStatus(await library.bin(id), 204);
      expectRefusal(await library.bin(id), 404);
      expect((await library.binned()).count).toBe(1);
    });

    test('takes a document once: of twenty at once, one is 204', async () => {
      const { library } = await setting().people.person();
      const { id } = await library.stored();
      const answers = await Promise.all(Array.from({ length: 20 }, () => library.bin(id)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([204, ...new Array<number>(19).fill(404)]);
    });

    test('takes and gives nothing that is not there: 404', async () => {
      const { library } = await setting().people.person();
      const live = await library.stored();
      for (const id of [crypto.randomUUID(), live.name, 'x']) {
        expectRefusal(await library.bin(id), 404);
        expectRefusal(await library.restore(id), 404);
      }
      expectRefusal(await library.restore(live.id), 404);
    });

    test('leaves detail and download to owner and admins; for everybody else the document is gone', async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const record = await owner.library.stored({ status: 'public', access: { curators: [curator.email] } });
      expectStatus(await other.library.downloadUrl(record.id), 200);
      expectStatus(await owner.library.bin(record.id), 204);
      for (const library of [owner.library, admin]) {
        expect(await library.read(record.id)).toEqual({ ...record, status: 'deleted' });
        expect((await library.read(record.name)).id).toBe(record.id);
        expect(await (await fetch(await library.link(record.id))).text()).toBe('some text');
      }
      for (const { library } of [curator, other]) {
        expectRefusal(await library.detail(record.id), 404);
        expectRefusal(await library.detail(record.name), 404);
        expectRefusal(await library.downloadUrl(record.id), 404);
        expectRefusal(await library.bin(record.id), 404);
        expectRefusal(await library.restore(record.id), 404);
      }
    });

    test("is the caller's own; an admin sees the whole workspace's with all=true", async () => {
      const { admin, people } = setting();
      const [owner, other] = [await people.person(), await people.person()];
      const record = await owner.library.stored({ status: 'public' });
      expectStatus(await owner.library.bin(record.id), 204);
      expect((await other.library.binned()).count).toBe(0);
      expect((await admin.binned()).items.map(({ id }) => id)).not.toContain(record.id);
      expect((await admin.binned({ all: true })).items.map(({ id }) => id)).toContain(record.id);
      expect((await admin.binned({ all: false })).items.map(({ id }) => id)).not.toContain(record.id);
      expectRefusal(await owner.library.trash({ all: true }), 403);
      expectStatus(await owner.library.trash({ all: false }), 200);
    });

    test("takes and gives anybody's document for admins; for others who see it binning is 403", async () => {
      const { admin, people } = setting();
      const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
      const record = await owner.library.stored({ status: 'public', access: { curators: [curator.email] } });
      for (const { library } of [curator, other]) expectRefusal(await library.bin(record.id), 403);
      expectStatus(await admin.bin(record.id), 204);
      expect((await owner.library.binned()).count).toBe(1);
      expect(bodyOf<DocumentRecord>(await admin.restore(record.id), 200)).toEqual(record);
    });
  });
}
