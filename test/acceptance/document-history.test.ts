// The history of a document: each change with who made it, when and from where, once, page by page, for those who see it.

import { describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { bodyOf, expectRefusal, expectStatus } from './support/caller.ts';
import type { Library } from './support/library.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const owner = await setting.people.person();
const other = await setting.people.person();

type Entry = {
  id: string;
  created_at: string;
  action: string;
  actor: string | null;
  via: string | null;
  key_id: string | null;
  address: string | null;
  changes: { field: string; before: string | null; after: string | null }[];
};
type Page = { items: Entry[]; next_cursor: string | null };

const historyOf = async (library: Library, id: string): Promise<Entry[]> =>
  bodyOf<Page>(await library.history(id), 200).items;

test('has each change with its author, the newest first, down to the upload', async () => {
  const { library, email } = owner;
  const document = await library.stored({ name: 'before.txt', tags: ['one'] });
  const { id } = document;
  expectStatus(await library.patch(id, { name: 'after.txt', tags: ['one', 'two'], slots: { a: 1 } }), 200);
  expectStatus(await setting.admin.patch(id, { status: 'public' }), 200);
  expectStatus(await library.archive('after.txt'), 200);
  expectStatus(await library.unarchive('after.txt'), 200);
  expectStatus(await library.bin(id), 204);
  expectStatus(await library.restore(id), 200);
  expectStatus(await library.putContent(id, { reading: 'off' }), 200);

  const entries = await historyOf(library, id);
  expect(entries.map(({ action }) => action)).toEqual([
    'content',
    'restore',
    'bin',
    'unarchive',
    'archive',
    'update',
    'update',
    'upload',
  ]);
  const changed = (at: number) =>
    new Map(entries.at(at)?.changes.map(({ field, ...values }) => [field, values]));
  expect(changed(0)).toEqual(new Map([['reading', { before: null, after: 'off' }]]));
  expect(changed(5)).toEqual(new Map([['status', { before: 'private', after: 'public' }]]));
  expect(changed(6)).toEqual(
    new Map([
      ['name', { before: 'before.txt', after: 'after.txt' }],
      ['tags', { before: 'one', after: 'one, two' }],
      ['slots', { before: null, after: null }],
    ]),
  );
  const upload = entries.at(-1);
  expect(upload).toMatchObject({ actor: email, created_at: document.created_at, via: null, address: null });
  for (const [at, entry] of entries.slice(0, -1).entries()) {
    expect(entry).toMatchObject({ via: 'key', key_id: expect.any(String), address: '127.0.0.1' });
    expect(entry.actor === email).toBe(at !== 5);
    expect(entry.created_at >= (entries[at + 1]?.created_at ?? '')).toBe(true);
  }
});

test('has nothing of what changed nothing, or was refused', async () => {
  const { library } = owner;
  const { id, name } = await library.stored({ tags: ['same'], status: 'public' });
  for (const same of [{}, { tags: ['same'] }, { name }]) expectStatus(await library.patch(id, same), 200);
  expectStatus(await library.unarchive(name), 200);
  expectStatus(await library.patch(id, { tags: 1 }), 422);
  expectStatus(await other.library.patch(id, { summary: 'not mine' }), 403);
  expectStatus(await other.library.bin(id), 403);
  expectStatus(await library.restore(id), 404);
  expect((await historyOf(library, id)).map(({ action }) => action)).toEqual(['upload']);
  expectStatus(await library.archive(name), 200);
  expectStatus(await library.archive(name), 200);
  expect((await historyOf(library, id)).map(({ action }) => action)).toEqual(['archive', 'upload']);
});

test('shows keys and addresses to the owner and administrators alone', async () => {
  const { id } = await owner.library.stored({ status: 'public' });
  expectStatus(await owner.library.patch(id, { summary: 'changed' }), 200);
  const [changed] = await historyOf(other.library, id);
  expect(changed).toMatchObject({ actor: owner.email, action: 'update', key_id: null, address: null });
  for (const library of [owner.library, setting.admin])
    expect((await historyOf(library, id))[0]).toMatchObject({ address: '127.0.0.1' });
});

test('comes in pages that have every entry once, also while others are added', async () => {
  const { library } = owner;
  const { id } = await library.stored();
  for (let time = 0; time < 7; time++) expectStatus(await library.patch(id, { summary: `${time}` }), 200);
  const seen: Entry[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Page = bodyOf<Page>(await library.history(id, { limit: 3, cursor }), 200);
    seen.push(...page.items);
    cursor = page.next_cursor;
    expectStatus(await library.patch(id, { summary: `later ${seen.length}` }), 200);
  }
  expect(seen.map(({ changes, action }) => changes[0]?.after ?? action)).toEqual([
    '6',
    '5',
    '4',
    '3',
    '2',
    '1',
    '0',
    'upload',
  ]);
  expectStatus(await library.history(id, { cursor: 'nonsense' }), 422);
  expectStatus(await library.history(id, { limit: 101 }), 422);
});

test('names who uploaded it, also after another person was made its owner', async () => {
  const { id } = await owner.library.stored({ status: 'public' });
  const { owner_id } = await other.library.stored();
  expectStatus(await setting.admin.patch(id, { owner_id }), 200);
  expect((await historyOf(other.library, id)).at(-1)).toMatchObject({ action: 'upload', actor: owner.email });
});

test('keeps long values short, and text of every kind', async () => {
  const { library } = owner;
  const { id } = await library.stored();
  const summaries = [
    'x'.repeat(5000),
    `${'x'.repeat(199)}🙂🙂`,
    '<script>alert(1)</script>',
    '\u202egnp.exe',
  ];
  for (const summary of summaries) expectStatus(await library.patch(id, { summary }), 200);
  const entries = await historyOf(library, id);
  for (const { changes } of entries)
    for (const { after } of changes) expect(after?.length ?? 0).toBeLessThanOrEqual(201);
  expect(entries[0]?.changes[0]?.after).toBe('\u202egnp.exe');
});

test('is gone with its document', async () => {
  const { library } = owner;
  const { id } = await library.stored();
  expectStatus(await library.bin(id), 204);
  expectStatus(await library.history(id), 200);
  expectStatus(await library.purge(id), 204);
  expectRefusal(await library.history(id), 404);
  expectRefusal(await library.history('no-uuid'), 404);
});

describe('shows a reader nothing from before the document became visible', () => {
  const curator = () => setting.people.person();
  const texts = (entries: Entry[]): string => JSON.stringify(entries.map(({ id: _, ...entry }) => entry));
  const actionsOf = (entries: Entry[]): string[] => entries.map(({ action }) => action);

  test('a document that is published', async () => {
    const { library } = owner;
    const { id } = await library.stored({
      name: 'Dismissal of Jo.txt',
      summary: 'hidden-1',
      tags: ['hidden-2'],
    });
    expectStatus(await library.patch(id, { name: 'Plan.txt', tags: ['hidden-3'] }), 200);
    const publication = { status: 'public', summary: 'shown-1', tags: ['shown-2'] };
    expectStatus(await library.patch(id, publication), 200);
    expectStatus(await library.patch(id, { summary: 'shown-3' }), 200);

    const seen = await historyOf(other.library, id);
    expect(texts(seen)).not.toMatch(/hidden|Dismissal/);
    expect(seen.map(({ changes }) => changes)).toEqual([
      [{ field: 'summary', before: 'shown-1', after: 'shown-3' }],
      expect.arrayContaining([
        { field: 'status', before: 'private', after: 'public' },
        { field: 'summary', before: null, after: 'shown-1' },
        { field: 'tags', before: null, after: 'shown-2' },
      ]),
      [],
    ]);
    for (const all of [library, setting.admin]) {
      const entries = texts(await historyOf(all, id));
      for (const value of ['hidden-1', 'hidden-2', 'hidden-3', 'Dismissal']) expect(entries).toContain(value);
    }
  });

  test('a document that is withdrawn, and published again', async () => {
    const { library } = owner;
    const { id } = await library.stored({ status: 'public', summary: 'by mistake' });
    expectStatus(await library.patch(id, { status: 'private', summary: 'hidden-1' }), 200);
    for (const summary of ['hidden-2', 'hidden-3']) expectStatus(await library.patch(id, { summary }), 200);
    expectStatus(await library.patch(id, { status: 'public' }), 200);
    expectStatus(await library.patch(id, { status: 'private' }), 200);
    expectStatus(await library.patch(id, { summary: 'hidden-4' }), 200);
    expectStatus(await library.patch(id, { status: 'public', summary: 'shown' }), 200);

    const seen = await historyOf(other.library, id);
    expect(texts(seen)).not.toMatch(/hidden|mistake/);
    expect(actionsOf(seen)).toEqual(['update', 'upload']);
    expect(actionsOf(await historyOf(library, id))).toHaveLength(8);
  });

  test('a document that comes back from the bin', async () => {
    const { library } = owner;
    const { id } = await library.stored({ status: 'public' });
    expectStatus(await library.patch(id, { summary: 'binned for this' }), 200);
    expectStatus(await library.bin(id), 204);
    expectStatus(await library.restore(id), 200);
    expectStatus(await library.patch(id, { summary: 'shown' }), 200);
    const seen = await historyOf(other.library, id);
    expect(actionsOf(seen)).toEqual(['update', 'restore', 'upload']);
    expect(seen[0]?.changes).toEqual([{ field: 'summary', before: 'binned for this', after: 'shown' }]);
  });

  test('a document that is archived all the while', async () => {
    const { library } = owner;
    const { id, name } = await library.stored({ summary: 'hidden-1' });
    expectStatus(await library.archive(name), 200);
    expectStatus(await library.patch(id, { status: 'public', summary: 'shown' }), 200);
    expectStatus(await library.unarchive(name), 200);
    const seen = await historyOf(other.library, id);
    expect(texts(seen)).not.toContain('hidden');
    expect(actionsOf(seen)).toEqual(['unarchive', 'update', 'upload']);
  });

  test('people who shared it, and the one who owned it', async () => {
    const { library } = owner;
    const [shared, former] = [await curator(), await curator()];
    const { id } = await former.library.stored({ summary: 'hidden-1', access: { curators: [shared.email] } });
    expectStatus(await shared.library.patch(id, { summary: 'hidden-2' }), 200);
    const { owner_id } = await library.stored();
    expectStatus(await setting.admin.patch(id, { owner_id }), 200);
    // A curator sees the values, also those from before; one who is none any more sees what readers see.
    expect(texts(await historyOf(shared.library, id))).toContain('hidden-1');
    expectStatus(await library.patch(id, { access: {} }), 200);
    expectRefusal(await shared.library.history(id), 404);
    expectStatus(await library.patch(id, { status: 'public', summary: 'shown' }), 200);
    for (const reader of [other, shared, former]) {
      const seen = texts(await historyOf(reader.library, id));
      for (const hidden of ['hidden', shared.email, former.email]) expect(seen).not.toContain(hidden);
    }
  });

  test('pages and cursors', async () => {
    const { library } = owner;
    const { id } = await library.stored({ summary: 'hidden-0' });
    for (let time = 1; time < 6; time++)
      expectStatus(await library.patch(id, { summary: `hidden-${time}` }), 200);
    expectStatus(await library.patch(id, { status: 'public' }), 200);
    const all: Page = bodyOf<Page>(await library.history(id, { limit: 3 }), 200);
    const page: Page = bodyOf<Page>(await other.library.history(id, { limit: 1 }), 200);
    for (const cursor of [all.next_cursor, page.next_cursor])
      expect(
        texts(bodyOf<Page>(await other.library.history(id, { cursor: cursor ?? '' }), 200).items),
      ).not.toContain('hidden');
  });
});
