// The end of a document: DELETE /v1/{workspace_id}/trash/{file_id} and DELETE …/empty/trash

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { expectRefusal, expectStatus } from '../support/caller.ts';
import type { Library } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';

export function describePurge(setting: () => Setting): void {
  const binnedDocument = async (library: Library, content = 'doomed') => {
    const record = await library.stored({}, content);
    expectStatus(await library.bin(record.id), 204);
    return record;
  };
  const objectGone = (link: string) =>
    eventually('the object to go', async () => (await fetch(link)).status === 404);

  describe('deleting for good', () => {
    test('answers 204; the record is gone at once and the object soon', async () => {
      const { library } = await setting().people.person();
      const record = await binnedDocument(library);
      const link = await library.link(record.id);
      const answer = await library.purge(record.id);
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(await library.binned()).toEqual({ items: [], count: 0 });
      expectRefusal(await library.detail(record.id), 404);
      expectRefusal(await library.detail(record.name), 404);
      expectRefusal(await library.downloadUrl(record.id), 404);
      expectRefusal(await library.restore(record.id), 404);
      expectRefusal(await library.purge(record.id), 404);
      await objectGone(link);
    });

    test('of a document that is not in the bin is 404, says so to those who see it, and leaves it', async () => {
      const { people } = setting();
      const [{ library }, other] = [await people.person(), await people.person()];
      const record = await library.stored();
      for (const refused of [await library.purge(record.id), await library.restore(record.id)])
        expect(expectRefusal(refused, 404)).toBe('The document is not in the bin');
      for (const refused of [await other.library.purge(record.id), await other.library.restore(record.id)])
        expect(expectRefusal(refused, 404)).toBe('Document not found');
      expect(await library.read(record.id)).toEqual(record);
      expectStatus(await library.bin(record.id), 204);
      expect(expectRefusal(await library.bin(record.id), 404)).toBe('The document is in the bin already');
      expect(expectRefusal(await other.library.purge(record.id), 404)).toBe('Document not found');
      expectStatus(await library.purge(record.id), 204);
      for (const refused of [await library.purge(record.id), await library.restore(record.id)])
        expect(expectRefusal(refused, 404)).toBe('Document not found');
    });

    test('of what does not exist is 404', async () => {
      const { admin } = setting();
      for (const id of [crypto.randomUUID(), 'x', '..x']) expectRefusal(await admin.purge(id), 404);
    });

    test('is for owner and admins; for everybody else the document is not there', async () => {
      const { admin, people } = setting();
      const [owner, other] = [await people.person(), await people.person()];
      const record = await binnedDocument(owner.library);
      expectRefusal(await other.library.purge(record.id), 404);
      expect((await owner.library.binned()).count).toBe(1);
      expectStatus(await admin.purge(record.id), 204);
      expect((await owner.library.binned()).count).toBe(0);
    });

    test('of twenty at once, one is 204', async () => {
      const { library } = await setting().people.person();
      const { id } = await binnedDocument(library);
      const answers = await Promise.all(Array.from({ length: 20 }, () => library.purge(id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, ...new Array<number>(19).fill(404)]);
    });

    test('and restoring at once: one of the two wins', async () => {
      const { library } = await setting().people.person();
      const { id } = await binnedDocument(library);
      const [purged, restored] = await Promise.all([library.purge(id), library.restore(id)]);
      const outcome = [purged.status, restored.status];
      expect([
        [204, 404],
        [404, 200],
      ]).toContainEqual(outcome);
      expectStatus(await library.detail(id), restored.status);
    });
  });

  describe('emptying the bin', () => {
    test('answers 204 and deletes all of it for good, objects included', async () => {
      const { library } = await setting().people.person();
      const records = await Promise.all(Array.from({ length: 3 }, () => binnedDocument(library)));
      const links = await Promise.all(records.map(({ id }) => library.link(id)));
      const answer = await library.emptyTrash();
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(await library.binned()).toEqual({ items: [], count: 0 });
      for (const { id } of records) expectRefusal(await library.detail(id), 404);
      await Promise.all(links.map(objectGone));
    });

    test('leaves documents outside the bin, and is 204 when there is nothing to delete', async () => {
      const { library } = await setting().people.person();
      const kept = await library.stored();
      expectStatus(await library.emptyTrash(), 204);
      expectStatus(await library.emptyTrash(), 204);
      expect(await library.read(kept.id)).toEqual(kept);
    });

    test("leaves other users' bins alone, also when an administrator empties theirs", async () => {
      const { people } = setting();
      const [owner, other] = [await people.person(), await people.person()];
      const chief = await people.person({ scopes: ['documents:read', 'documents:write', 'admin'] });
      for (const { library } of [owner, chief]) await binnedDocument(library);
      expectStatus(await other.library.emptyTrash(), 204);
      expectStatus(await chief.library.emptyTrash(), 204);
      expect((await chief.library.binned()).count).toBe(0);
      const { items } = await owner.library.binned();
      expect(items).toHaveLength(1);
      expect(await (await fetch(await owner.library.link(items[0]?.id ?? ''))).text()).toBe('doomed');
    });
  });
}
