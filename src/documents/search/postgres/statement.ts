// The one statement of a search: what the viewer may find and the conditions, the total, and one page in order.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Predicate } from '../../filter/ast.ts';
import type { ScalarAttribute } from '../../filter/attributes.ts';
import { shownColumns } from '../../rows.ts';
import { type Conditions, toConditions, type Visible } from '../conditions.ts';
import type { SearchQuery } from '../query.ts';
import { all, any } from './fragments.ts';
import { type RowTest, toRowTest, type Vocabulary } from './row-tests.ts';
import type { TextSearch } from './text.ts';

/** A search as conditions on rows `s` of document_search and, where `texts` says so, `t` of document_texts. */
export type SearchPlan = ReturnType<typeof planSearch>;

/** Tests of long texts that a search may make of each document without waiting for its turn. */
const TEXT_TESTS_MAX = 8;
/** Rows that a page may skip without waiting for its turn. */
const OFFSET_QUICK_MAX = 10_000;

export function planSearch(
  sql: Transaction,
  query: SearchQuery,
  context: { bucket: string; vocabulary: Vocabulary; text?: TextSearch | undefined },
) {
  const { bucket, vocabulary, text } = context;
  const { workspaceId } = query.viewer;
  const conditions = toConditions(query);
  const rowTests = conditions.rest.map((predicate) =>
    toRowTest({ sql, workspaceId, bucket, vocabulary }, predicate),
  );
  const keys = toKeys(sql, query, text);
  /** Documents with certain terms or texts are found by an index of these; all others in the order of a page. */
  const inOrder =
    WALKED.has(query.order[0]?.attribute ?? '') &&
    // The index has those without a value first when it is read backwards.
    !(keys[0]?.nullable && keys[0].descending) &&
    conditions.required.length === 0 &&
    conditions.visible.whole.length > 0 &&
    conditions.rest.every(isCompared) &&
    text === undefined;
  const tests = [
    ...termTests(sql, conditions),
    ...rowTests.map((test) => test.sql),
    ...(text === undefined ? [] : [text.matches]),
  ];
  return {
    query,
    conditions,
    inOrder,
    keys,
    tests,
    where: all(sql, [sql`s.workspace_id = ${workspaceId}`, isVisible(sql, conditions.visible), ...tests]),
    from: (withOrder = false): Fragment =>
      [...rowTests, ...(withOrder ? keys : [])].some(({ texts }) => texts) || text !== undefined
        ? sql`document_search s JOIN document_texts t ON t.id = s.id`
        : sql`document_search s`,
    /** No index narrows the search to what it finds: few such searches run at once. */
    slow: isSlow(query, conditions, { rowTests, inOrder, text }),
    findsNothing: conditions.visible.whole.length + conditions.visible.own.length === 0,
  };
}

function isSlow(
  { offset }: SearchQuery,
  { required, excluded, rest }: Conditions,
  { rowTests, inOrder, text }: { rowTests: RowTest[]; inOrder: boolean; text: TextSearch | undefined },
): boolean {
  if (text !== undefined || offset > OFFSET_QUICK_MAX || rowTests.some(({ slow }) => slow)) return true;
  if (rowTests.filter(({ texts }) => texts).length > TEXT_TESTS_MAX) return true;
  return required.length === 0 && (excluded.length > 0 || (!inOrder && rest.every(isCompared)));
}

/** A page and the total. Where nothing is on the page, one row holds the total alone. */
export function searchStatement(sql: Transaction, plan: SearchPlan): Fragment {
  const { query, where, keys } = plan;
  const columns = keys.reduce(
    (sum, key, at) => sql`${sum}, ${key.value} AS ${sql(`k${at}`)}`,
    sql`s.id AS found`,
  );
  const order = sql.unsafe([...keys.map((key, at) => `k${at} ${directionOf(key)}`), 'found'].join(', '));
  const window = sql`LIMIT ${query.limit} OFFSET ${query.offset}`;
  const rows = sql`SELECT ${columns} FROM ${plan.from(true)} WHERE ${where}`;
  const parts = plan.inOrder
    ? { ctes: sql``, total: countStatement(sql, plan), page: sql`${rows} ORDER BY ${order} ${window}` }
    : {
        // Each match is read once, for the total and the page.
        ctes: sql`WITH matching AS MATERIALIZED (${rows})`,
        total: sql`(SELECT count(*) FROM matching)`,
        page: sql`SELECT * FROM matching ORDER BY ${order} ${window}`,
      };
  return sql`${parts.ctes}
    SELECT total::float8 AS total, ${shownColumns(sql)} FROM (SELECT ${parts.total} AS total) counted
    LEFT JOIN (${parts.page}) page ON true LEFT JOIN documents d ON d.id = page.found ORDER BY ${order}`;
}

/**
 * The total of a search in order, as a scalar. What a viewer curates is counted by itself, so that everything else is counted
 * in the index alone.
 */
function countStatement(sql: Transaction, { query, conditions, tests }: SearchPlan): Fragment {
  const { whole, own, curated, ownerId, curator } = conditions.visible;
  const count = (visible: Fragment) => sql`(SELECT count(*) FROM document_search s
    WHERE ${all(sql, [sql`s.workspace_id = ${query.viewer.workspaceId}`, visible, ...tests])})`;
  if (own.length === 0) return count(inClasses(sql, whole));
  const isOwn = sql`(${inClasses(sql, own)} AND s.owner_id = ${ownerId}::uuid)`;
  const seen = count(sql`(${inClasses(sql, whole)} OR ${isOwn})`);
  if (curated.length === 0) return seen;
  return sql`${seen} + ${count(sql`${inClasses(sql, curated)} AND s.owner_id <> ${ownerId}::uuid
    AND s.terms @> ARRAY[${curator}::uuid]`)}`;
}

const inClasses = (sql: Transaction, classes: readonly number[]): Fragment =>
  sql`s.class = ANY (${classes as number[]}::smallint[])`;

function isVisible(sql: Transaction, { whole, own, curated, ownerId, owner, curator }: Visible): Fragment {
  if (own.length === 0) return inClasses(sql, whole);
  const parts = [
    ...(whole.length === 0 ? [] : [inClasses(sql, whole)]),
    sql`${inClasses(sql, own)} AND s.owner_id = ${ownerId}::uuid`,
    ...(curated.length === 0 ? [] : [sql`${inClasses(sql, curated)} AND s.terms @> ARRAY[${curator}::uuid]`]),
  ];
  const one = sql`(${any(sql, parts)})`;
  // The index of terms finds what is one's own, or curated, where nothing else is asked for.
  return whole.length > 0 ? one : sql`s.terms && ARRAY[${owner}, ${curator}]::uuid[] AND ${one}`;
}

const termTests = (sql: Transaction, { required, excluded }: Conditions): Fragment[] => [
  ...required.map((group) => sql`s.terms && ${group}::uuid[]`),
  ...(excluded.length === 0 ? [] : [sql`NOT s.terms && ${excluded}::uuid[]`]),
];

const isCompared = ({ attribute }: Predicate): boolean =>
  attribute === 'created_at' || attribute === 'file_size';

/** Attributes with an index of (workspace, attribute, id). */
const WALKED: ReadonlySet<string> = new Set(['created_at', 'name', 'file_size']);

/** What a page is ordered by: an expression on `s`, or on `t` where `texts` says so. The id, ascending, breaks ties. */
type Key = { value: string; nullable?: boolean; texts?: boolean };

const KEYS: Record<ScalarAttribute, Key> = {
  created_at: { value: 's.created_at' },
  name: { value: 's.name' },
  file_size: { value: 's.file_size', nullable: true },
  file_type: { value: 's.file_type', nullable: true },
  file_hash: { value: 's.file_hash', nullable: true },
  owner_id: { value: 's.owner_id' },
  id: { value: 's.id' },
  status: {
    value: `(CASE s.class % 3 WHEN 0 THEN 'public' WHEN 1 THEN 'private' ELSE 'deleted' END) COLLATE "C"`,
  },
  // The bucket leads every location, and changes no order.
  storage_url: { value: 't.object_key', texts: true },
  summary: { value: 't.summary', nullable: true, texts: true },
};

const directionOf = ({ nullable, descending }: { nullable?: boolean; descending: boolean }): string =>
  descending ? (nullable ? 'DESC NULLS LAST' : 'DESC') : 'ASC';

function toKeys(sql: Transaction, { order, predicates }: SearchQuery, text: TextSearch | undefined) {
  // A document without a size fulfils no comparison of sizes, so that the index can be read backwards.
  const sized = predicates.some(
    ({ attribute, test, negated }) => attribute === 'file_size' && test.kind === 'compare' && !negated,
  );
  const keys = order.map(({ attribute, descending }) => {
    const { value, nullable = false, texts = false } = KEYS[attribute];
    return {
      value: sql.unsafe(value),
      nullable: nullable && !(attribute === 'file_size' && sized),
      texts,
      descending,
    };
  });
  return text === undefined
    ? keys
    : [{ value: text.rank, nullable: false, texts: true, descending: true }, ...keys];
}
