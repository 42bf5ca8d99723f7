// Finding documents, as a client does it: over HTTP, in the interface's words.

import { beforeAll, describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { type Answer, bodyOf, expectStatus } from './support/caller.ts';
import { type DocumentRecord, freshName, type Library } from './support/library.ts';
import type { Person } from './support/people.ts';
import { startSetting } from './support/setting.ts';

type Page = {
  items: DocumentRecord[];
  total: number;
  page: number | null;
  size: number | null;
  pages: number | null;
};
type Pairs = [string, string | number][];

const setting = await shared(startSetting());

const ask = (key: string | undefined, pairs: Pairs): Promise<Answer> => {
  const query = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return setting.call('GET', `/v1/filter/${setting.workspace}?${query}`, { key });
};

async function find(key: string, ...pairs: Pairs): Promise<Page> {
  return bodyOf<Page>(await ask(key, pairs), 200);
}

/** Names on the first page, in order. */
const names = async (key: string, ...pairs: Pairs): Promise<string[]> =>
  (await find(key, ...pairs)).items.map(({ name }) => name);

/** A filter that only the documents of one test pass. */
const mark = (): string => `mark-${crypto.randomUUID().slice(0, 13)}`;

describe('filters', () => {
  let person: Person;
  let own: string;
  beforeAll(async () => {
    person = await setting.people.person();
    own = mark();
    const store = (metadata: Record<string, unknown>) =>
      person.library.stored({ tags: [own], ...metadata }, 'x'.repeat(String(metadata['name']).length));
    await store({
      name: 'Café.pdf',
      summary: 'A report about coffee',
      slots: { dept: 'Sales', n: [1, { deep: true }] },
    });
    await store({ name: 'cafe.txt', summary: null, slots: {}, categories: ['Drinks', 'Food'] });
    await store({
      name: 'it\'s 100% "sure"\\_.md',
      summary: '',
      slots: { dept: 'sales', Dept: 'x' },
      categories: [],
    });
    await store({ name: '007', summary: 'NOT (a = b) OR x->y', slots: null, access: { level: 7 } });
  });

  test.each([
    ['name', 'eq:CAFÉ.pdf', ['Café.pdf']],
    ['name', 'eq:cafe.txt', ['cafe.txt']],
    ['name', 'cafe', ['cafe.txt', 'Café.pdf']],
    ['name', 'starts_with:CAFE', ['cafe.txt', 'Café.pdf']],
    ['name', 'ends_with:.PDF', ['Café.pdf']],
    ['name', 'not_contains:cafe', ['007', 'it\'s 100% "sure"\\_.md']],
    ['name', 'in:007,cafe.txt', ['007', 'cafe.txt']],
    ['name', '100%', ['it\'s 100% "sure"\\_.md']],
    ['name', '\\_', ['it\'s 100% "sure"\\_.md']],
    ['name', '_', ['it\'s 100% "sure"\\_.md']],
    ['name', "'s", ['it\'s 100% "sure"\\_.md']],
    ['name', '"sure"', ['it\'s 100% "sure"\\_.md']],
    ['summary', 'coffee', ['Café.pdf']],
    ['summary', 'is_empty:true', ['it\'s 100% "sure"\\_.md', 'cafe.txt']],
    ['summary', 'is_empty:false', ['007', 'Café.pdf']],
    ['summary', 'NOT (a = b) OR', ['007']],
    ['categories', 'drinks', ['cafe.txt']],
    ['categories', 'any:none,FOOD', ['cafe.txt']],
    ['categories', 'not_any:food', ['007', 'it\'s 100% "sure"\\_.md', 'Café.pdf']],
    ['categories', 'is__not_empty:true', ['cafe.txt']],
    ['categories', 'is_empty:true', ['007', 'it\'s 100% "sure"\\_.md', 'Café.pdf']],
    ['slots', 'eq:dept->SALES', ['it\'s 100% "sure"\\_.md', 'Café.pdf']],
    ['slots', 'eq:DEPT->sales', []],
    ['slots', 'eq:n->1', ['Café.pdf']],
    ['slots', 'any:n->true,2', ['Café.pdf']],
    ['slots', 'sal', ['it\'s 100% "sure"\\_.md', 'Café.pdf']],
    ['slots', 'is_empty:true', ['007', 'cafe.txt']],
    ['slots', 'is_empty:dept->true', ['007', 'cafe.txt']],
    ['access', 'eq:level->7', ['007']],
    ['file_type', 'eq:pdf', ['Café.pdf']],
    ['file_type', 'is_empty:true', ['007']],
    ['file_size', 'lte:8', ['007', 'cafe.txt', 'Café.pdf']],
    ['file_size', 'neq:8', ['007', 'it\'s 100% "sure"\\_.md']],
    [
      'created_at',
      'gt:2020-01-01T00:00:00 02:00',
      ['007', 'it\'s 100% "sure"\\_.md', 'cafe.txt', 'Café.pdf'],
    ],
    ['created_at', 'lt:2020-01-01', []],
    ['created_at', 'gte:9999-12-31T12:00:00Z', []],
    ['created_at', 'gt:9999-12-31T23:59:59.999Z', []],
    ['created_at', 'lt:0001-01-01', []],
    ['created_at', 'eq:9999-12-31T23:59:59.999Z', []],
    [
      'created_at',
      'lte:9999-12-31T23:59:59.999Z',
      ['007', 'it\'s 100% "sure"\\_.md', 'cafe.txt', 'Café.pdf'],
    ],
    ['status', 'private', ['007', 'it\'s 100% "sure"\\_.md', 'cafe.txt', 'Café.pdf']],
    ['owner_id', 'is_empty:true', []],
    ['id', 'no-uuid', []],
    ['storage_url', `s3`, ['007', 'it\'s 100% "sure"\\_.md', 'cafe.txt', 'Café.pdf']],
  ])('%s=%s', async (attribute, text, expected) => {
    expect(await names(person.key, ['tags', own], [attribute, text])).toEqual(expected);
  });

  test('storage_url takes the location that an answer tells, but for its scheme, in every operator', async () => {
    const stored = await person.library.stored({ name: 'located.txt', tags: [mark()] }, 'x', 'Some Folder');
    const [label = ''] = stored.tags ?? [];
    const location = stored.storage_url.replace('s3://', '');
    const half = location.slice(0, location.length >> 1);
    const tail = location.slice(location.length >> 1);
    const found = (text: string) => names(person.key, ['tags', label], ['storage_url', text]);
    for (const text of [
      `eq:${location}`,
      `in:${location}`,
      `in:nowhere,${location}`,
      `starts_with:${location}`,
      `starts_with:${half}`,
      'starts_with:s3',
      'starts_with:S',
      `contains:${location}`,
      `ends_with:${tail}`,
      `ends_with:${location}`,
      location,
      `not_contains:x${location}`,
      `neq:${half}`,
      `not_in:${half},x`,
    ])
      expect([text, await found(text)]).toEqual([text, ['located.txt']]);
    for (const text of [
      `neq:${location}`,
      `not_in:x,${location}`,
      `not_contains:${tail}`,
      `eq:${half}`,
      `starts_with:${tail}`,
      'starts_with:3',
      'starts_with:s3x',
      'eq:s3',
    ])
      expect([text, await found(text)]).toEqual([text, []]);
  });

  test('a location with its scheme is 422 and told to leave it out', async () => {
    const answer = await ask(person.key, [['storage_url', 'eq:s3://atrium/default/x.pdf']]);
    const { detail } = bodyOf<{ detail: { loc: unknown[]; msg: string; type: string }[] }>(answer, 422);
    expect(detail).toHaveLength(1);
    expect(detail[0]).toMatchObject({ loc: ['query', 'storage_url', 0], type: 'string_pattern_mismatch' });
    expect(detail[0]?.msg).toContain("leave out the scheme 's3://'");
  });

  test('all hold together, repeats of one attribute too', async () => {
    expect(await names(person.key, ['tags', own], ['name', 'caf'], ['name', 'pdf'])).toEqual(['Café.pdf']);
    expect(await names(person.key, ['tags', own], ['name', 'caf'], ['summary', 'is_empty:true'])).toEqual([
      'cafe.txt',
    ]);
  });

  test.each([
    [
      ['order_by', 'name'],
      ['007', 'Café.pdf', 'cafe.txt', 'it\'s 100% "sure"\\_.md'],
    ],
    [
      ['order_by', 'name DESC'],
      ['it\'s 100% "sure"\\_.md', 'cafe.txt', 'Café.pdf', '007'],
    ],
    [
      ['order_by', 'file_type'],
      ['it\'s 100% "sure"\\_.md', 'Café.pdf', 'cafe.txt', '007'],
    ],
    [
      ['order_by', 'file_type desc'],
      ['cafe.txt', 'Café.pdf', 'it\'s 100% "sure"\\_.md', '007'],
    ],
    [
      ['order_by', 'created_at'],
      ['Café.pdf', 'cafe.txt', 'it\'s 100% "sure"\\_.md', '007'],
    ],
  ] as [Pairs[number], string[]][])('%p', async (order, expected) => {
    // By code points: the decomposed accent comes after every plain letter, U+0301 after the dot.
    const found = await names(person.key, ['tags', own], order);
    expect(new Set(found)).toEqual(new Set(expected));
    if (order[1] !== 'name' && order[1] !== 'name DESC') expect(found).toEqual(expected);
    else {
      const sorted = [...expected].sort((left, right) =>
        Buffer.compare(
          Buffer.from(left.normalize('NFKD').toLowerCase()),
          Buffer.from(right.normalize('NFKD').toLowerCase()),
        ),
      );
      expect(found).toEqual(order[1] === 'name' ? sorted : sorted.reverse());
    }
  });
});

describe('pages', () => {
  test('page and size, limit and offset, and a page past the end', async () => {
    const { key, library } = await setting.people.person();
    const own = mark();
    for (let index = 0; index < 7; index++) await library.stored({ name: `${index}.txt`, tags: [own] });
    const tag: Pairs[number] = ['tags', own];
    expect(await find(key, tag, ['size', 3], ['page', 3])).toMatchObject({
      total: 7,
      page: 3,
      size: 3,
      pages: 3,
    });
    expect(await names(key, tag, ['size', 3], ['page', 3])).toEqual(['0.txt']);
    expect(await find(key, tag)).toMatchObject({ total: 7, page: 1, size: 50, pages: 1 });
    expect(await find(key, tag, ['offset', 5])).toMatchObject({
      total: 7,
      page: null,
      size: null,
      pages: null,
    });
    expect(await names(key, tag, ['offset', 5])).toEqual(['1.txt', '0.txt']);
    expect(await names(key, tag, ['limit', 2])).toEqual(['6.txt', '5.txt']);
    expect(await names(key, tag, ['limit', 2], ['page', 1])).toHaveLength(7);
    expect(await find(key, tag, ['page', 9])).toMatchObject({ items: [], total: 7, page: 9 });
    expect(await find(key, tag, ['page', 9_007_199_254_740_991])).toMatchObject({ items: [], total: 7 });
    expect(await find(key, ['tags', mark()])).toMatchObject({ items: [], total: 0, pages: 0 });
  });
});

describe('a page far beyond the end', () => {
  test.each([
    ['page', '9'.repeat(20)],
    ['page', '9'.repeat(300)],
    ['offset', '9'.repeat(20)],
    ['offset', '9'.repeat(300)],
  ])('%s=%s is empty', async (parameter, value) => {
    const { key, library } = await setting.people.person();
    const own = mark();
    await library.stored({ name: freshName(), tags: [own] });
    // The second search knows how many documents there are.
    for (let time = 0; time < 2; time++)
      expect(await find(key, ['tags', own], [parameter, value])).toMatchObject({ items: [], total: 1 });
  });
});

test('a summary of a hundred thousand combining marks is stored and found, and holds up nobody', async () => {
  const { key, library } = await setting.people.person();
  const own = mark();
  const { id } = await library.stored({ name: freshName(), tags: [own] });
  const summary = `${'\u0301\u0316'.repeat(50_000)} marked`;
  const started = performance.now();
  expectStatus(await library.patch(id, { summary }), 200);
  // The engine's own normalisation of it takes half a minute, and is asked for several times.
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(await find(key, ['tags', own], ['summary', 'ends_with:\u0316 marked'])).toMatchObject({ total: 0 });
  expect(await find(key, ['tags', own], ['summary', 'ends_with:\u0301 marked'])).toMatchObject({ total: 1 });
});

describe('visibility', () => {
  test('is part of the search: totals never count what the caller may not see', async () => {
    const [owner, curator, stranger] = [
      await setting.people.person(),
      await setting.people.person(),
      await setting.people.person(),
    ];
    const own: Pairs[number] = ['tags', mark()];
    const store = (library: Library, name: string, more: object) =>
      library.stored({ name, tags: [own[1]], ...more });
    await store(owner.library, 'public', { status: 'public' });
    await store(owner.library, 'private', { status: 'private' });
    await store(owner.library, 'curated', { access: { curators: [curator.email.toUpperCase()] } });
    const { id } = await store(owner.library, 'binned', { status: 'public' });
    expectStatus(await owner.library.bin(id), 204);
    await store(owner.library, 'archived', { status: 'public' });
    expectStatus(await owner.library.archive('archived'), 200);

    const seen = async (key: string, ...pairs: Pairs) => {
      const { items, total } = await find(key, own, ['order_by', 'name'], ...pairs);
      const { items: first, total: again } = await find(
        key,
        own,
        ['order_by', 'name'],
        ['size', 1],
        ...pairs,
      );
      expect(again).toBe(total);
      expect(first).toEqual(items.slice(0, 1));
      expect(total).toBe(items.length);
      return items.map(({ name }) => name).join(' ');
    };
    for (const key of [owner.key, setting.adminKey]) {
      expect(await seen(key)).toBe('curated private public');
      expect(await seen(key, ['status', 'eq:deleted'])).toBe('binned');
      expect(await seen(key, ['status', 'in:public,deleted'])).toBe('binned public');
      expect(await seen(key, ['status', 'neq:private'])).toBe('public');
      expect(await seen(key, ['archived', 'true'])).toBe('archived');
      expect(await seen(key, ['archived', 'any'])).toBe('archived curated private public');
    }
    expect(await seen(curator.key)).toBe('curated public');
    expect(await seen(curator.key, ['status', 'eq:deleted'])).toBe('');
    expect(await seen(stranger.key)).toBe('public');
    expect(await seen(stranger.key, ['status', 'private'])).toBe('');
    expect(await seen(stranger.key, ['archived', 'any'])).toBe('archived public');
  });

  test('another workspace is another world', async () => {
    const { people } = await setting.elsewhere();
    const stranger = await people.newKey();
    expectStatus(await ask(stranger.key, []), 403);
    expectStatus(await ask(undefined, []), 422);
    expectStatus(await ask((await setting.people.newKey({ scopes: ['documents:write'] })).key, []), 403);
  });
});

test('a search sent after an answer shows its effect', async () => {
  const { key, library } = await setting.people.person();
  const own: Pairs[number] = ['tags', mark()];
  const found = async () => (await find(key, own)).items.map(({ name }) => name);
  const name = freshName();
  const { id } = await library.stored({ name, tags: [own[1]] });
  expect(await found()).toEqual([name]);
  expectStatus(await library.patch(id, { name: 'renamed' }), 200);
  expect(await found()).toEqual(['renamed']);
  expectStatus(await library.patch(id, { tags: ['other'] }), 200);
  expect(await found()).toEqual([]);
  expectStatus(await library.patch(id, { tags: [own[1]] }), 200);
  expectStatus(await library.archive(id), 200);
  expect(await found()).toEqual([]);
  expectStatus(await library.unarchive(id), 200);
  expect(await found()).toEqual(['renamed']);
  expectStatus(await library.bin(id), 204);
  expect(await found()).toEqual([]);
  expectStatus(await library.restore(id), 200);
  expect(await found()).toEqual(['renamed']);
  expectStatus(await library.bin(id), 204);
  expectStatus(await library.purge(id), 204);
  expect((await find(key, own, ['status', 'eq:deleted'])).total).toBe(0);
});

describe('q', () => {
  test('finds words of name, labels, slots and summary, forgives typing errors, and ranks', async () => {
    const { key, library } = await setting.people.person();
    const own: Pairs[number] = ['tags', mark()];
    const store = (name: string, more: object = {}) => library.stored({ name, tags: [own[1]], ...more });
    await store('Quarterly figures.pdf');
    await store('a.txt', { summary: 'These are the quarterly numbers' });
    await store('b.txt', { tags: [own[1], 'Quarterly'] });
    await store('c.txt', { slots: { title: 'quarterly' } });
    await store('Größe und Café.txt');
    const search = (q: string, ...more: Pairs) => names(key, own, ['q', q], ...more);
    expect(await search('quarterly')).toEqual(['Quarterly figures.pdf', 'b.txt', 'c.txt', 'a.txt']);
    expect(new Set(await search('quartely'))).toEqual(
      new Set(['Quarterly figures.pdf', 'b.txt', 'c.txt', 'a.txt']),
    );
    expect(await search('qaurterly figurs')).toEqual(['Quarterly figures.pdf']);
    expect(await search('quarterly', ['summary', 'numbers'])).toEqual(['a.txt']);
    expect(await search('numb')).toEqual(['a.txt']);
    expect(await search('cafe grosse')).toEqual([]);
    expect(await search('cafe')).toEqual(['Größe und Café.txt']);
    for (const mistyped of ['cofe', 'cfae', 'caf', 'cfe', 'caffe', 'bafe', 'cafo'])
      expect(await search(`${mistyped} und`)).toEqual(mistyped.length < 4 ? [] : ['Größe und Café.txt']);
    expect(await search('unheard of')).toEqual([]);
    const stranger = await setting.people.person();
    expect(await names(stranger.key, ['q', 'quarterly'], own)).toEqual([]);
  });
});

describe('mistakes are told exactly, and all of them', () => {
  test('each in its place', async () => {
    const { key } = await setting.people.person();
    const answer = await ask(key, [
      ['name', 'ok'],
      ['name', 'eq:a:b'],
      ['tags', 'contains:x'],
      ['created_at', 'soon'],
      ['file_size', 'gt:x'],
      ['order_by', 'tags'],
      ['size', '101'],
      ['page', '0'],
      ['nmae', 'eq:x'],
      ['archived', 'perhaps'],
    ]);
    const { detail } = bodyOf<{ detail: { type: string; loc: unknown[]; msg: string }[] }>(answer, 422);
    const told = new Map(detail.map(({ type, loc }) => [loc.join('.'), type]));
    expect(Object.fromEntries(told)).toEqual({
      'query.nmae': 'extra_forbidden',
      'query.name.1': 'string_pattern_mismatch',
      'query.tags.0': 'string_pattern_mismatch',
      'query.created_at.0': 'datetime_parsing',
      'query.file_size.0': 'int_parsing',
      'query.order_by.0': 'value_error',
      'query.page': 'greater_than_equal',
      'query.size': 'less_than_equal',
      'query.archived': 'enum',
    });
    expect(detail.find(({ type }) => type === 'value_error')?.msg).toContain("'tags'");
  });

  test('hundreds of filters and very long values are served', async () => {
    const { key } = await setting.people.person();
    const many: Pairs = Array.from({ length: 500 }, (_, index) => ['name', `not_contains:piece ${index}`]);
    expectStatus(await ask(key, many), 200);
    expectStatus(
      await ask(
        key,
        Array.from({ length: 500 }, (_, index) => ['tags', `tag ${index}`]),
      ),
      200,
    );
    expectStatus(await ask(key, [['summary', `%${'é'.repeat(8000)}`]]), 200);
    expectStatus(await ask(key, [['name', 'x'.repeat(16_384)]]), 200);
    expectStatus(await ask(key, [['q', 'word '.repeat(3000)]]), 200);
  });
});

test('the answer names the engine that gave it', async () => {
  const { key } = await setting.people.person();
  const answer = await ask(key, []);
  expect(['postgres', 'meilisearch']).toContain(answer.headers.get('atrium-search-engine') ?? '');
});
