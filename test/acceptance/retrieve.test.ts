// Passages that answer a question: from the upload to the cited page, for those who may see the document, under filters.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { docx, pdf } from '../support/files.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import { missing, notEnum, tooLarge, tooLong, tooShort, tooSmall } from './support/entries.ts';
import { freshName, type Library } from './support/library.ts';
import type { Person } from './support/people.ts';
import { type Setting, startSetting } from './support/setting.ts';
import type { Content as Bytes } from './support/uploads.ts';

type Passage = {
  document_id: string;
  name: string;
  page: number | null;
  heading: string | null;
  text: string;
  score: number;
  start: number;
  end: number;
};
type Retrieved = { passages: Passage[]; engine: string };

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

async function retrieved(library: Library, request: object): Promise<Retrieved> {
  return bodyOf<Retrieved>(await library.retrieve(request), 200);
}

async function stored(library: Library, given: Record<string, unknown>, content: Bytes): Promise<string> {
  const { id } = await library.stored(given, content);
  expect(await library.whenRead(id)).toMatchObject({ status: 'ready' });
  return id;
}

/** A word that no other test uses. */
const freshWord = (): string => `w${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`;

const idsOf = async (library: Library, query: string, filter?: object): Promise<string[]> =>
  (await retrieved(library, { query, limit: 100, filter, mode: 'words' })).passages.map(
    ({ document_id }) => document_id,
  );

describe('a question', () => {
  test('finds the passage of an uploaded file, with its page and its place in the text', async () => {
    const word = freshWord();
    const pages = [
      [{ x: 50, y: 700, text: 'How to install the pump.' }],
      [{ x: 50, y: 700, text: `The ${word} is changed every 500 hours.` }],
    ];
    const id = await stored(setting.admin, { name: 'pump manual.pdf' }, pdf(pages));
    const { passages, engine } = await retrieved(setting.admin, { query: `When is the ${word} changed?` });
    const [first] = passages;
    expect(first).toMatchObject({ document_id: id, name: 'pump manual.pdf', page: 2 });
    expect(first?.text).toContain('every 500 hours');
    expect(engine).toStartWith('postgres words');
    const { text } = await setting.admin.content(id, { format: 'text' });
    expect([...text].slice(first?.start, first?.end).join('')).toBe(first?.text as string);
  });

  test('is answered with the path of headings that a passage stands under', async () => {
    const word = freshWord();
    const file = docx([{ style: 'Heading1', text: 'Pumps' }, { text: `The ${word} leaks.` }]);
    await stored(setting.admin, { name: freshName('docx') }, file);
    const { passages } = await retrieved(setting.admin, { query: word });
    expect(passages[0]).toMatchObject({ heading: 'Pumps', page: null });
  });

  test('finds nothing of what it was once the text is replaced, and nothing of a text that is not kept', async () => {
    const [first, second] = [freshWord(), freshWord()];
    const id = await stored(setting.admin, {}, `The ${first} leaks.`);
    expect(await idsOf(setting.admin, first)).toEqual([id]);
    expectStatus(await setting.admin.putContent(id, { text: `The ${second} leaks.` }), 200);
    await eventually('the new text', async () =>
      (await idsOf(setting.admin, second)).length > 0 ? true : undefined,
    );
    expect(await idsOf(setting.admin, first)).toEqual([]);
    expectStatus(await setting.admin.putContent(id, { reading: 'off' }), 200);
    expect(await idsOf(setting.admin, second)).toEqual([]);
  });

  test('is answered by as many passages as asked for, the best first, with scores from 0 to 1', async () => {
    const word = freshWord();
    for (let number = 0; number < 4; number++)
      await stored(
        setting.admin,
        {},
        `The ${word} of pump number ${number}. ${'Other words follow. '.repeat(number)}`,
      );
    const all = await retrieved(setting.admin, { query: word, mode: 'words' });
    expect(all.passages.length).toBe(4);
    const scores = all.passages.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((left, right) => right - left));
    for (const score of scores) expect(score > 0 && score <= 1).toBe(true);
    const three = await retrieved(setting.admin, { query: word, mode: 'words', limit: 3 });
    expect(three.passages).toEqual(all.passages.slice(0, 3));
    const best = await retrieved(setting.admin, { query: word, mode: 'words', min_score: scores[0] });
    expect(best.passages.length).toBeLessThan(4);
  });

  test.each(['words', 'vectors', 'hybrid'])(
    'is answered by %s, with what found the passages',
    async (mode) => {
      const word = freshWord();
      await stored(setting.admin, {}, `The ${word} of the pump leaks.`);
      const engine = { words: 'postgres words', vectors: 'local-', hybrid: 'postgres words + local-' }[mode];
      await eventually('the passage to be found', async () => {
        const answer = await retrieved(setting.admin, { query: `${word} of the pump`, mode });
        const found = answer.passages[0]?.text.includes(word) ?? false;
        return found && answer.engine.startsWith(engine ?? '') ? true : undefined;
      });
    },
  );
});

describe('passages are found by those who may see their document now', () => {
  const STATES = ['public', 'private', 'archived', 'binned'] as const;
  const CALLERS = ['owner', 'curator', 'other', 'admin', 'foreign'] as const;
  /** Who finds a passage in each state: without a filter, with all of the archive, and in the bin. */
  const FOUND: Record<(typeof STATES)[number], Record<string, readonly string[]>> = {
    public: { plain: ['owner', 'curator', 'other', 'admin'], archive: [], bin: [] },
    private: { plain: ['owner', 'curator', 'admin'], archive: [], bin: [] },
    archived: { plain: [], archive: ['owner', 'curator', 'other', 'admin'], bin: [] },
    binned: { plain: [], archive: [], bin: ['owner', 'admin'] },
  };
  const FILTERS = { plain: undefined, archive: { archived: 'true' }, bin: { status: 'eq:deleted' } };

  test.each(STATES)('%s', async (state) => {
    const { people } = setting;
    const [owner, curator, other] = [await people.person(), await people.person(), await people.person()];
    const elsewhere = await setting.elsewhere();
    const foreign = await elsewhere.people.person();
    const libraries: Record<(typeof CALLERS)[number], Pick<Person, 'library'>> = {
      owner,
      curator,
      other,
      admin: { library: setting.admin },
      foreign,
    };
    const word = freshWord();
    const status = state === 'private' ? 'private' : 'public';
    const id = await stored(
      owner.library,
      { status, access: { curators: [curator.email] } },
      `The ${word} leaks.`,
    );
    if (state === 'archived')
      expectStatus(await owner.library.archive((await owner.library.read(id)).name), 200);
    if (state === 'binned') expectStatus(await owner.library.bin(id), 204);
    const found: Record<string, string[]> = {};
    for (const [name, filter] of Object.entries(FILTERS)) {
      found[name] = [];
      for (const caller of CALLERS)
        if ((await idsOf(libraries[caller].library, word, filter)).includes(id)) found[name].push(caller);
    }
    expect(found).toEqual(FOUND[state] as Record<string, string[]>);
  });

  test('a change of rights, a restore and a purge act at once', async () => {
    const [owner, other] = [await setting.people.person(), await setting.people.person()];
    const word = freshWord();
    const id = await stored(owner.library, { status: 'private' }, `The ${word} leaks.`);
    expect(await idsOf(other.library, word)).toEqual([]);
    expectStatus(await owner.library.patch(id, { status: 'public' }), 200);
    expect(await idsOf(other.library, word)).toEqual([id]);
    expectStatus(await owner.library.bin(id), 204);
    expect(await idsOf(other.library, word)).toEqual([]);
    expectStatus(await owner.library.restore(id), 200);
    expect(await idsOf(other.library, word)).toEqual([id]);
    expectStatus(await owner.library.bin(id), 204);
    expectStatus(await owner.library.purge(id), 204);
    expect(await idsOf(owner.library, word, { status: 'eq:deleted' })).toEqual([]);
  });
});

describe('a filter', () => {
  test('is that of a search: each attribute with one condition or several, all of which hold', async () => {
    const word = freshWord();
    const tag = freshWord();
    const first = await stored(
      setting.admin,
      { name: `first ${tag}.txt`, tags: [tag, 'a'] },
      `The ${word} leaks.`,
    );
    const second = await stored(setting.admin, { tags: [tag], slots: { year: 2024 } }, `A ${word} leaks.`);
    const found = async (filter: object): Promise<string[]> =>
      (await idsOf(setting.admin, word, filter)).sort();
    expect(await found({ tags: tag })).toEqual([first, second].sort());
    expect(await found({ tags: [`any:${tag}`, 'any:a'] })).toEqual([first]);
    expect(await found({ name: `starts_with:first ${tag}` })).toEqual([first]);
    expect(await found({ slots: 'eq:year->2024', created_at: ['gte:2020-01-01T00:00:00Z'] })).toEqual([
      second,
    ]);
    expect(await found({ tags: `not_any:${tag}` })).toEqual([]);
    expect(await found({ id: `in:${first},${crypto.randomUUID()}` })).toEqual([first]);
  });

  test.each(['summary', 'slots', 'name'])(
    'of tens of thousands of values for %s finds what has one of them',
    async (attribute) => {
      const word = freshWord();
      const given = { name: `${word}.txt`, summary: word, slots: { word } };
      const id = await stored(setting.admin, given, `The ${word} leaks.`);
      const others = Array.from({ length: 60_000 }, (_, n) => `v${n}`);
      const found = (values: readonly string[]) =>
        idsOf(setting.admin, word, { [attribute]: `in:${values.join()}` });
      expect(await found([...others, attribute === 'name' ? `${word}.txt` : word])).toEqual([id]);
      expect(await found(others)).toEqual([]);
    },
  );
});

describe('a retrieval refuses', () => {
  const refused = async (json: unknown): Promise<unknown[]> =>
    bodyOf<{ detail: unknown[] }>(await setting.admin.retrieve(json), 422).detail;

  test('every mistake of a request, exactly', async () => {
    expect(await refused({})).toEqual([missing(['body', 'query'], {})]);
    expect(await refused({ query: '' })).toEqual([tooShort(['body', 'query'], '', 1)]);
    expect(await refused({ query: 'a', limit: 0 })).toEqual([tooSmall(['body', 'limit'], 0, 1)]);
    expect(await refused({ query: 'a', limit: 101 })).toEqual([tooLarge(['body', 'limit'], 101, 100)]);
    expect(await refused({ query: 'a', min_score: 2 })).toEqual([tooLarge(['body', 'min_score'], 2, 1)]);
    expect(await refused({ query: 'a', mode: 'x' })).toEqual([
      notEnum(['body', 'mode'], 'x', "'hybrid', 'words' or 'vectors'"),
    ]);
    expect(await refused({ query: 'a', filter: { tags: ['a', 'gt:b'], file_size: 'x' } })).toMatchObject([
      { type: 'string_pattern_mismatch', loc: ['body', 'filter', 'tags', 1], input: 'gt:b' },
      { type: 'int_parsing', loc: ['body', 'filter', 'file_size'] },
    ]);
    expect(await refused({ query: 'a', filter: { colour: 'red' } })).toMatchObject([
      { type: 'extra_forbidden', loc: ['body', 'filter', 'colour'] },
    ]);
    expect(await refused({ filter: { tags: ['a'], name: 7 } })).toMatchObject([
      { type: 'missing', loc: ['body', 'query'] },
      { type: 'string_type', loc: ['body', 'filter', 'name'] },
    ]);
  });

  test('a text that is too long and filters without end, and answers to odd characters', async () => {
    const long = 'word '.repeat(20_000);
    expect(await refused({ query: long })).toEqual([tooLong(['body', 'query'], long, 8192)]);
    const filter = { tags: Array.from({ length: 3000 }, (_, number) => `t${number}`) };
    expect(await refused({ query: 'a', filter })).toMatchObject([
      { type: 'too_long', loc: ['body', 'filter'], ctx: { max_length: 500, actual_length: 3000 } },
    ]);
    for (const query of [
      '\u0000',
      '\ud800 a',
      "'; --",
      ':* & |',
      '🙂'.repeat(4000),
      'x'.repeat(8192),
      'ab '.repeat(2730),
    ])
      expect([200, 422]).toContain((await setting.admin.retrieve({ query })).status);
  });
});
