// GET /v1/metadata/{workspace_id}/folders/list

import { describe, expect, test } from 'bun:test';
import { bodyOf, expectStatus } from '../support/caller.ts';
import type { Library } from '../support/library.ts';
import type { Setting } from '../support/setting.ts';

type FolderList = {
  items: { name: string; path: string; storage_url: string }[];
  next_cursor: string | null;
};

export function describeFolders(setting: () => Setting): void {
  describe('the folders', () => {
    const list = async (library: Library, query: Record<string, string | number> = {}) =>
      bodyOf<FolderList>(await library.folders(query), 200);
    const namesIn = async (library: Library, parent: string): Promise<string[]> =>
      (await list(library, { parent })).items.map(({ name }) => name);
    const freshFolder = (): string => `f-${crypto.randomUUID().slice(0, 13)}`;

    test('of a folder are those directly in it, each once, in order, and what is beside it is not', async () => {
      const { library } = await setting().people.person();
      const top = freshFolder();
      const folders = ['b/deep/er', 'b', 'b', 'b-c', 'a b', 'B', 'é', ''];
      for (const folder of folders) await library.stored({}, 'x', `${top}/${folder}`);
      await library.stored({}, 'x', `${top}-beside/z`);
      expect(await namesIn(library, top)).toEqual(['B', 'a b', 'b', 'b-c', 'é']);
      expect(await namesIn(library, `/${top}//b/`)).toEqual(['deep']);
      expect(await namesIn(library, `${top}/b/deep/er`)).toEqual([]);
      expect(await namesIn(library, '')).toEqual(expect.arrayContaining([top, `${top}-beside`]));
    });

    test('say what the location of their documents begins with', async () => {
      const { library } = await setting().people.person();
      const top = freshFolder();
      const { storage_url: url } = await library.stored({}, 'x', `${top}/inner`);
      const { items } = await list(library, { parent: top });
      expect(items).toMatchObject([{ name: 'inner', path: `${top}/inner` }]);
      expect(url).toStartWith(items[0]?.storage_url ?? '?');
      expect(items[0]?.storage_url).toEndWith(`/${top}/inner/`);
    });

    test('come in pages', async () => {
      const { library } = await setting().people.person();
      const top = freshFolder();
      for (const name of ['1', '2', '3']) await library.stored({}, 'x', `${top}/${name}`);
      const first = await list(library, { parent: top, limit: 2 });
      const second = await list(library, { parent: top, limit: 2, cursor: first.next_cursor ?? '' });
      expect([first, second].map(({ items }) => items.map(({ name }) => name))).toEqual([['1', '2'], ['3']]);
      expect(second.next_cursor).toBeNull();
    });

    test('are not seen by those who see none of their documents, nor where all were archived or binned', async () => {
      const { library } = await setting().people.person();
      const { library: other } = await setting().people.person();
      const top = freshFolder();
      await library.stored({}, 'x', `${top}/hidden`);
      await library.stored({ status: 'public' }, 'x', `${top}/open`);
      const archived = await library.stored({}, 'x', `${top}/archived`);
      const binned = await library.stored({}, 'x', `${top}/binned`);
      expectStatus(await library.archive(archived.name), 200);
      expectStatus(await library.bin(binned.id), 204);
      expect(await namesIn(library, top)).toEqual(['hidden', 'open']);
      expect(await namesIn(other, top)).toEqual(['open']);
    });

    test('that no folder can be called are refused', async () => {
      const { library } = await setting().people.person();
      for (const query of [{ parent: 'a/../b' }, { parent: 'a\u0001' }, { cursor: 'a\u0000' }, { limit: 0 }])
        expectStatus(await library.folders(query), 422);
    });
  });
}
