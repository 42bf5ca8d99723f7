// Every operator is served by an index: the plans of counts and pages over 100,000 documents, of which no table is
// read from end to end. What no index can serve is named here too.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { connectForSearch } from '../../../src/database.ts';
import type { Attribute } from '../../../src/documents/filter/attributes.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { searchStatement } from '../../../src/documents/search/postgres/statement.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createTerms, wordPrefix } from '../../../src/documents/search/terms.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../../support/database.ts';

const DOCUMENTS = 100_000;
const OWNER = '00000000-0000-4000-8000-000000000001';

let database: TestDatabase;
let searchSql: ReturnType<typeof connectForSearch>;
beforeAll(async () => {
  database = await testDatabase();
  searchSql = connectForSearch(database.url, silentLog);
  const sql = connectTo(database.url, { applicationName: 'fill', statementTimeoutMs: 0 });
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
  for (const table of ['document_search', 'document_texts', 'document_words'])
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

const planOf = (query: SearchQuery) => {
  const slow = createSemaphore({ runningMax: 1, waitingMax: 1, refuse: '' });
  return createPostgresSearch({ sql: searchSql, bucket: 'atrium', slow }).plan(query);
};

/** The nodes of the statement's plan. */
async function plan(
  filters: readonly (readonly [Attribute, string])[],
  more: Partial<SearchQuery> = {},
): Promise<Node[]> {
  const planned = await planOf(queryOf(filters, more));
  const [row] = await searchSql<{ 'QUERY PLAN': [{ Plan: Node }] }[]>`
    EXPLAIN (FORMAT JSON) ${searchStatement(searchSql, planned)}`;
  return row === undefined ? [] : flatten(row['QUERY PLAN'][0].Plan);
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
  const scanned = nodes.filter((node) => node['Node Type'] === 'Seq Scan');
  // The table of the records themselves is empty here.
  expect(scanned.map((node) => node['Relation Name']).filter((name) => name !== 'documents')).toEqual([]);
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

test.each([
  ['created_at', 'document_search_by_time'],
  ['name', 'document_search_by_name'],
  ['file_size', 'document_search_by_size'],
] as const)('everything by %s is walked in the order of an index', async (attribute, index) => {
  for (const descending of [true, false]) {
    const query: Partial<SearchQuery> = { order: [{ attribute, descending }], offset: 100 };
    // Those without a size come last, for which the index has another order: largest first, all are sorted.
    const nodes = await plan(attribute === 'file_size' ? [['file_size', 'gt:0']] : [], query);
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
    const planned = await planOf(queryOf(filters, { order: [], limit: 1 }));
    expect(planned.slow).toBe(true);
  },
);
