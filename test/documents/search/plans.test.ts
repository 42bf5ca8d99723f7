// Every operator is served by an index: the plans of counts and pages over 100,000 documents, of which no table is
// read from end to end. What no index can serve is named here too.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { connectForLastingPlans, connectForSearch } from '../../../src/database.ts';
import type { Attribute } from '../../../src/documents/filter/attributes.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { type CommonTerms, createCommonTerms } from '../../../src/documents/search/postgres/common-terms.ts';
import { createCountFolding } from '../../../src/documents/search/postgres/count-folding.ts';
import { countSelections } from '../../../src/documents/search/postgres/counting.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { pageStatement, wholeStatement } from '../../../src/documents/search/postgres/paging.ts';
import { createPrepare, isLasting, type Prepared } from '../../../src/documents/search/postgres/prepared.ts';
import { countRows } from '../../../src/documents/search/postgres/statements.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createTerms, wordPrefix } from '../../../src/documents/search/terms.ts';
import type { Fragment } from '../../../src/infra/postgres/client.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../../support/database.ts';

const DOCUMENTS = 100_000;
const OWNER = '00000000-0000-4000-8000-000000000001';

let database: TestDatabase;
let common: CommonTerms;
let searchSql: ReturnType<typeof connectForSearch>;
beforeAll(async () => {
  database = await testDatabase();
  searchSql = connectForSearch(database.url, silentLog);
  const sql = connectTo(database.url, { applicationName: 'fill', statementTimeoutMs: 0 });
  common = createCommonTerms(sql);
  const terms = createTerms('acme');
  const tags = Array.from({ length: 50 }, (_, number) => terms.label('tags', `tag ${number}`));
  const slots = Array.from({ length: 10 }, (_, number) => terms.leaf('slots', 'dept', `dept ${number}`));
  // Indexes are built over the whole at once, which takes a fraction of the time.
  const indexes = await sql<{ name: string; definition: string }[]>`
    SELECT indexname AS name, indexdef AS definition FROM pg_indexes
    WHERE tablename IN ('document_search', 'document_texts', 'document_words') AND indexname NOT LIKE '%_pkey'`;
  for (const { name } of indexes) await sql.unsafe(`DROP INDEX ${name}`);
  await sql.unsafe(`
    INSERT INTO document_search (id, workspace_id, class, owner_id, created_at, name, file_size, file_type, file_hash, terms)
    SELECT gen_random_uuid(), 'acme', (random() < 0.3)::int, '${OWNER}', timestamptz '2024-01-01' + n * interval '5 min',
      'document ' || md5(n::text) || ' of ' || n, n * 17, 'pdf', md5(n::text),
      ARRAY[('{${tags.join()}}'::uuid[])[1 + (n::bigint * n) % 50], ('{${slots.join()}}'::uuid[])[1 + n % 10]]
    FROM generate_series(1, ${DOCUMENTS}) n`);
  await sql.unsafe(`
    INSERT INTO document_texts
    SELECT id, 'acme/' || id || '.pdf', 'summary with word' || right(name, 5), NULL, jsonb_build_object('dept', ARRAY['x']),
      ('''${wordPrefix('acme')}word' || right(name, 5) || ''':1D ''${wordPrefix('acme')}summary'':1D')::tsvector, true
    FROM document_search`);
  await sql.unsafe(`
    INSERT INTO document_words SELECT DISTINCT 'word' || right(name, 5) FROM document_search ON CONFLICT DO NOTHING`);
  for (const { definition } of indexes) await sql.unsafe(definition);
  await createCountFolding({ sql, common, log: silentLog })(new AbortController().signal);
  for (const table of ['document_search', 'document_texts', 'document_words', 'document_counts'])
    await sql.unsafe(`VACUUM ANALYZE ${table}`);
  await sql.end({ timeout: 1 });
});
afterAll(async () => {
  await searchSql.end({ timeout: 1 });
  await database.drop();
});

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Node[];
};

const flatten = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

const queryOf = (
  filters: readonly (readonly [Attribute, string])[],
  more: Partial<SearchQuery>,
): SearchQuery => ({
  viewer: { workspaceId: 'acme', userId: OWNER, email: 'a@example.org', admin: true },
  predicates: filters.map(([attribute, text]) => {
    const parsed = parseFilter(attribute, text, []);
    if ('mistake' in parsed) throw new Error(parsed.mistake.msg);
    return toPredicate(parsed.value);
  }),
  archived: 'without',
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 50,
  ...more,
});

/** The nodes of the plans of count and page. */
async function plan(
  filters: readonly (readonly [Attribute, string])[],
  more: Partial<SearchQuery> = {},
): Promise<Node[]> {
  const sql = searchSql;
  const prepared = await createPrepare({ sql, bucket: 'atrium', common })(queryOf(filters, more));
  const statements = await statementsOf(await prepared.spelt());
  const nodes: Node[] = [];
  for (const statement of statements) {
    const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Node }] }[]>`EXPLAIN (FORMAT JSON) ${statement}`;
    if (row !== undefined) nodes.push(...flatten(row['QUERY PLAN'][0].Plan));
  }
  return nodes;
}

/** What a search may run: the counts and the page, or where rows are asked, both in one. */
async function statementsOf(prepared: Prepared): Promise<Fragment[]> {
  const sql = searchSql;
  const whole = wholeStatement(sql, prepared).page;
  if (prepared.text !== undefined) return [whole];
  const counts = await countSelections(sql, prepared, common);
  const statements = prepared.selections.map((selection) => sql`SELECT ${countRows(sql, selection)}`);
  if (prepared.rowTests.length > 0) statements.push(whole);
  if (counts.total === 0) return statements;
  const { offset } = prepared.query;
  return [...statements, pageStatement(sql, prepared, { counts, offset, walking: true }).page];
}

const indexesIn = (nodes: readonly Node[]): string[] => [
  ...new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
];

const BY_TERMS = 'document_search_terms';

test.each([
  ['one tag', [['tags', 'any:tag 7']], BY_TERMS],
  ['tags of which one', [['tags', 'any:tag 7,tag 8']], BY_TERMS],
  [
    'two facets',
    [
      ['tags', 'tag 7'],
      ['slots', 'eq:dept->dept 3'],
    ],
    BY_TERMS,
  ],
  ['a hash', [['file_hash', 'eq:c4ca4238a0b923820dcc509a6f75849b']], BY_TERMS],
  ['an owner', [['owner_id', `eq:${crypto.randomUUID()}`]], BY_TERMS],
  ['an empty list', [['categories', 'is_empty:true']], BY_TERMS],
  ['an id', [['id', `eq:${crypto.randomUUID()}`]], 'document_search_pkey'],
  ['a location', [['storage_url', `in:${crypto.randomUUID()}`]], 'document_search_pkey'],
  ['a name', [['name', 'eq:document 1']], 'document_search_by_name'],
  ['how a name begins', [['name', 'starts_with:document c4ca']], 'document_search_'],
  ['how a name ends', [['name', 'ends_with:of 4711']], 'document_search_name_parts'],
  ['part of a name', [['name', 'contains:b923820dcc of']], 'document_search_name_parts'],
  ['a time', [['created_at', 'gte:2024-12-10']], 'document_search_by_time'],
  ['a size', [['file_size', 'lt:3000']], 'document_search_by_size'],
  ['words of a summary', [['summary', 'contains:with word4711']], 'document_texts_words'],
  ['part of one word of a summary', [['summary', 'contains:ord4711']], 'document_texts_words'],
  ['a summary', [['summary', 'eq:summary with word 4711']], 'document_texts_words'],
  ['how a summary begins', [['summary', 'starts_with:summary with word 47']], 'document_texts_words'],
  ['how a summary ends', [['summary', 'ends_with:with word4711']], 'document_texts_words'],
] as [string, [Attribute, string][], string][])('%s is found by an index', async (_name, filters, index) => {
  const nodes = await plan(filters);
  expect(
    nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']),
  ).toEqual([]);
  expect(indexesIn(nodes).join()).toContain(index);
});

test.each(['summary', 'word4711', 'with summary'])(
  'the words %s are looked up once for all classes and the total',
  async (text) => {
    const nodes = await plan([], { text });
    const texts = nodes.filter(
      (node) =>
        node['Relation Name'] === 'document_texts' || node['Index Name']?.startsWith('document_texts'),
    );
    expect(texts.filter((node) => node['Node Type'] !== 'Bitmap Index Scan')).toHaveLength(1);
  },
);

test('words that many documents have wait for a turn once that is known; others do not', async () => {
  const slow = createSemaphore({ runningMax: 1, waitingMax: 0, refuse: 'taken' });
  const { prepare, search } = createPostgresSearch({ sql: searchSql, bucket: 'atrium', slow, common });
  const find = async (text: string) => (await search(await prepare(queryOf([], { text })))).total;
  expect(await find('summary')).toBeGreaterThan(30_000);
  await slow.acquire();
  await expect(find('summary')).rejects.toThrow('taken');
  // It begins ten words.
  expect(await find('word4711')).toBe(10);
});

const BY_SUMMARY: Partial<SearchQuery> = { order: [{ attribute: 'summary', descending: false }] };

test.each([
  ['small', 'everything', [], {}],
  ['small', 'without a tag', [['tags', 'not_any:tag 7']], {}],
  ['small', 'a tag, by summary', [['tags', 'any:tag 7']], BY_SUMMARY],
  ['small', 'everything, by summary', [], BY_SUMMARY],
  ['small', 'a word', [], { text: 'word4711' }],
  ['small', 'a word and a tag', [['tags', 'any:tag 7']], { text: 'word4711' }],
  ['small', 'part of a name', [['name', 'contains:b923820dcc']], {}],
  ['small', 'part of a summary', [['summary', 'contains:ord4711']], {}],
  ['medium', 'a tag', [['tags', 'any:tag 7']], {}],
  ['medium', 'a tag, by summary', [['tags', 'any:tag 7']], BY_SUMMARY],
  ['medium', 'a word', [], { text: 'word4711' }],
] as ['small' | 'medium', string, [Attribute, string][], Partial<SearchQuery>][])(
  'the lasting plan of a %s workspace goes by indexes, and by its own rows, however small the tables were: %s',
  async (size, _name, filters, more) => {
    const small = connectForLastingPlans(database.url, silentLog);
    try {
      const query = queryOf(filters, more);
      const prepare = createPrepare({ sql: small, bucket: 'atrium', common, sizeOf: () => size });
      const prepared = await (await prepare(query)).spelt();
      expect(isLasting(prepared)).toBe(true);
      const { statement } = await small`${wholeStatement(small, prepared).page}`;
      const [row] = await small.unsafe<{ 'QUERY PLAN': [{ Plan: Node }] }[]>(
        `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${statement.string}`,
      );
      const nodes = row === undefined ? [] : flatten(row['QUERY PLAN'][0].Plan);
      const types = nodes.map((node) => node['Node Type']);
      expect(types.filter((type) => /Seq Scan|Hash Join|Merge Join/.test(type))).toEqual([]);
      expect(types.join()).toContain('Scan');
      // Rows that are found by terms have their texts fetched by key: compared with all texts that match, they take the square.
      if (filters.length > 0) expect(indexesIn(nodes)).not.toContain('document_texts_words');
      // No index of texts, and no table of them from end to end: the rows of other workspaces are there, too.
      expect(indexesIn(nodes)).not.toContain('document_search_name_parts');
      for (const node of nodes.filter((each) => each['Index Name'] === 'document_texts_pkey'))
        expect(node['Index Cond']).toContain('id = ');
    } finally {
      await small.end({ timeout: 1 });
    }
  },
);

test('a word and a tag in a medium workspace: how common both are decides, so that the plan is made anew', async () => {
  const prepare = createPrepare({ sql: searchSql, bucket: 'atrium', common, sizeOf: () => 'medium' });
  const prepared = await (await prepare(queryOf([['tags', 'any:tag 7']], { text: 'word4711' }))).spelt();
  expect(isLasting(prepared)).toBe(false);
});

test.each([
  ['created_at', 'document_search_by_time'],
  ['name', 'document_search_by_name'],
  ['file_size', 'document_search_by_size'],
] as const)('everything by %s is walked in the order of an index', async (attribute, index) => {
  for (const descending of [true, false]) {
    const query: Partial<SearchQuery> = { order: [{ attribute, descending }], offset: 100 };
    const nodes = await plan([], query);
    expect(indexesIn(nodes)).toContain(index);
    expect(nodes.filter((node) => node['Node Type'] === 'Limit').length).toBeGreaterThan(0);
  }
});

test.each([
  ['part of a location', [['storage_url', 'contains:abc']]],
  ['two letters of a name', [['name', 'contains:ab']]],
  ['a piece of a summary without a word', [['summary', 'contains:- -']]],
] as [string, [Attribute, string][]][])(
  '%s is not: it waits its turn among the slow ones',
  async (_name, filters) => {
    const sql = searchSql;
    const prepared = await createPrepare({ sql, bucket: 'atrium', common })(
      queryOf(filters, { order: [], limit: 1 }),
    );
    expect(prepared.rowTests.some(({ slow }) => slow)).toBe(true);
  },
);
