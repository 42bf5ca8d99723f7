// What can be seen of the texts of documents together: their passages, their states, and how far reading is.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { bodyOf, expectRefusal, expectStatus } from './support/caller.ts';
import type { Library } from './support/library.ts';
import { createPeople, type People } from './support/people.ts';
import { type Setting, startSetting } from './support/setting.ts';

type Passage = { passage: number; page: number | null; heading: string | null; text: string };
type Page<Item> = { items: Item[]; next_cursor: string | null };
type State = { document_id: string; name: string; status: string; reading: string; given: boolean };
type Summary = {
  documents: Record<string, number>;
  passages: number;
  without_vectors: number;
  waiting_since: string | null;
};

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on', SWEEP_INTERVAL_SECONDS: '2' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

async function stored(library: Library, name: string, content: string): Promise<string> {
  const { id } = await library.stored({ name }, content);
  await library.whenRead(id);
  return id;
}

const page = async <Item>(answer: Promise<{ status: number }>): Promise<Page<Item>> =>
  bodyOf<Page<Item>>((await answer) as never, 200);

const LONG = Array.from({ length: 6 }, (_, chapter) => {
  const sentences = Array.from({ length: 60 }, (_unused, at) => `Sentence ${at} says something about pumps.`);
  return `# Chapter ${chapter + 1}\n\n${sentences.join(' ')}\n`;
}).join('\n');

/** A workspace that no other test knows. */
async function newWorkspace(): Promise<{ workspace: string; people: People }> {
  const json = { id: `w-${crypto.randomUUID().slice(0, 8)}` };
  const answer = await setting.call('POST', '/admin/api/workspaces', { key: setting.adminKey, json });
  const { id: workspace } = bodyOf<{ id: string }>(answer, 201);
  return { workspace, people: createPeople(setting.call, { workspace, adminKey: setting.adminKey }) };
}

describe('the passages of a document', () => {
  test('are listed in order, page by page, each as it stands in the text', async () => {
    const { admin } = setting;
    const id = await stored(admin, 'pumps.md', LONG);
    const { passages } = bodyOf<{ passages: number }>(await admin.content(id), 200);
    expect(passages).toBeGreaterThan(6);
    const text = [...(await admin.content(id, { format: 'text' })).text];
    const seen: (Passage & { start: number; end: number })[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const next: Page<(typeof seen)[number]> = await page(admin.passages(id, { limit: 4, cursor }));
      expect(next.items.length).toBeLessThanOrEqual(4);
      seen.push(...next.items);
      cursor = next.next_cursor;
    }
    expect(seen.map(({ passage }) => passage)).toEqual(Array.from({ length: passages }, (_, at) => at));
    for (const each of seen) expect(text.slice(each.start, each.end).join('')).toBe(each.text);
    expect(seen[0]?.heading).toBe('Chapter 1');
    expect((await page<Passage>(admin.passages(id, { limit: 1, cursor: '5' }))).items[0]?.passage).toBe(5);
    expect(await page(admin.passages(id, { cursor: String(passages) }))).toEqual({
      items: [],
      next_cursor: null,
    });
  });

  test('are refused by exact mistakes, and are not there for a document that nobody may see', async () => {
    const { admin } = setting;
    const id = await stored(admin, 'short.txt', 'Short.');
    for (const query of [{ limit: 0 }, { limit: 101 }, { cursor: '-1' }, { cursor: 'x' }])
      expectStatus(await admin.passages(id, query as Record<string, string>), 422);
    expectRefusal(await admin.passages('x'), 404);
    expectRefusal(await admin.passages(crypto.randomUUID()), 404);
  });
});

describe('the states of several texts', () => {
  test('are read of the documents that are named and that the caller may see, or of those in a state', async () => {
    const { workspace, people } = await newWorkspace();
    const [ada, grace] = [await people.person(), await people.person()];
    const ready = await stored(ada.library, 'a.txt', 'The seal leaks.');
    const [first, second] = [
      await stored(ada.library, 'b.pdf', '%PDF-1.7 broken'),
      await stored(ada.library, 'c.pdf', '%PDF-1.7 broken, too'),
    ];
    const ids = (library: Library, wanted: readonly string[]): Promise<Page<State>> => {
      const query = wanted.map((id) => `document_id=${id}`).join('&');
      return page(
        setting.call('GET', `/v1/${workspace}/contents?${query}`, {
          key: library === ada.library ? ada.key : grace.key,
        }),
      );
    };
    const found = await ids(ada.library, [first, ready]);
    expect(found.next_cursor).toBeNull();
    expect(new Map(found.items.map(({ document_id, status }) => [document_id, status]))).toEqual(
      new Map([
        [ready, 'ready'],
        [first, 'failed'],
      ]),
    );
    expect(found.items.map(({ reading, given }) => [reading, given])).toEqual([
      ['on', false],
      ['on', false],
    ]);
    expect((await ids(grace.library, [first, ready])).items).toEqual([]);

    const failed = await page<State>(ada.library.contents({ status: 'failed', limit: 1 }));
    expect(failed.items.map(({ document_id }) => document_id)).toEqual([second]);
    const rest = await page<State>(
      ada.library.contents({ status: 'failed', cursor: failed.next_cursor ?? '' }),
    );
    expect(rest).toMatchObject({ items: [{ document_id: first, name: 'b.pdf' }], next_cursor: null });
    expect((await page(grace.library.contents({ status: 'failed' }))).items).toEqual([]);
    expectStatus(await ada.library.bin(second), 204);
    expect((await page(ada.library.contents())).items).toHaveLength(1);

    expectStatus(await ada.library.putContent(ready, { reading: 'off' }), 200);
    const off = await page<State>(ada.library.contents({ status: 'unsupported' }));
    expect(off.items).toMatchObject([{ document_id: ready, reading: 'off' }]);
    expectStatus(await ada.library.putContent(ready, { text: 'By hand.' }), 200);
    await eventually('the text by hand', async () => {
      const [content] = (await ids(ada.library, [ready])).items;
      return content?.status === 'ready' && content.given && content.reading === 'on';
    });
  });

  test('are refused where a state and documents, or too many of them are asked for', async () => {
    const { call, adminKey: key, admin } = setting;
    const id = crypto.randomUUID();
    for (const query of [{ status: 'lost' }, { document_id: 'x' }, { document_id: id, status: 'ready' }])
      expectStatus(await admin.contents(query as Record<string, string>), 422);
    const path = (count: number) =>
      `/v1/${setting.workspace}/contents?${Array.from({ length: count }, () => `document_id=${crypto.randomUUID()}`).join('&')}`;
    expectStatus(await call('GET', path(100), { key }), 200);
    expectStatus(await call('GET', path(101), { key }), 422);
  });
});

test('an administrator sees how many documents are in each state, and since when the first one waits', async () => {
  const { call, adminKey: key } = setting;
  const { workspace, people } = await newWorkspace();
  const { library } = await people.person();
  const path = `/admin/api/workspaces/${workspace}/content/summary`;
  const summary = async () => bodyOf<Summary>(await call('GET', path, { key }), 200);
  const none = { pending: 0, ready: 0, empty: 0, unsupported: 0, failed: 0 };
  expect(await summary()).toEqual({
    documents: none,
    passages: 0,
    without_vectors: 0,
    waiting_since: null,
  });
  await stored(library, 'a.txt', 'The seal leaks.');
  await stored(library, 'b.pdf', '%PDF-1.7 broken');
  const off = await stored(library, 'c.txt', 'Nothing.');
  expectStatus(await library.putContent(off, { reading: 'off' }), 200);
  await eventually('the vectors', async () => (await summary()).without_vectors === 0, 60_000);
  expect(await summary()).toEqual({
    documents: { ...none, ready: 1, unsupported: 1, failed: 1 },
    passages: 1,
    without_vectors: 0,
    waiting_since: null,
  });
  expectStatus(await call('GET', '/admin/api/workspaces/nowhere/content/summary', { key }), 404);
});
