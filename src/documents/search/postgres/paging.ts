// One page of what was counted. Each branch is walked in the order of an index where a good part of what is passed
// belongs to the answer, and otherwise gathered whole and sorted.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Counts } from './counting.ts';
import { union } from './fragments.ts';
import { isBounded, isLasting, type Prepared, readsText } from './prepared.ts';
import {
  allTexts,
  DAY_MS,
  dailyCounts,
  rows,
  rowsTogether,
  type Selection,
  textsOfRow,
} from './statements.ts';

/** Attributes with an index of (workspace, class, attribute, id). */
const WALKED: ReadonlySet<string> = new Set(['created_at', 'name', 'file_size']);
/** From this offset on it pays to ask by day where the page begins. */
const SKIP_OFFSET_MIN = 500;
/** Rows that a search may read without waiting for the other slow ones. */
export const ROWS_READ_MAX = 30_000;

type Form = 'walked' | 'gathered';

/** How a branch is read, and about how many rows that reads. */
function formOf(
  prepared: Prepared,
  counts: Counts,
  index: number,
  offset: number,
): { form: Form; reads: number } {
  const { query } = prepared;
  const { documents, inClass, inSpan } = counts.branches[index] ?? { documents: 0, inClass: 0, inSpan: 0 };
  const gathered = { form: 'gathered' as const, reads: documents };
  const first = query.order[0]?.attribute ?? '';
  if (!WALKED.has(first)) return gathered;
  const passed = first === 'created_at' ? inSpan : inClass;
  const walked = ((offset + query.limit) * passed) / Math.max(1, documents);
  return walked <= WALKED_ROW_COST * gathered.reads ? { form: 'walked', reads: walked } : gathered;
}

/** Rows that are walked lie apart from each other less often than rows that are gathered. */
const WALKED_ROW_COST = 1.5;

/** Whether a page reads so much that it has to wait for its turn. */
export const isDeep = (prepared: Prepared, counts: Counts, offset: number): boolean =>
  prepared.selections.reduce((sum, _, index) => sum + formOf(prepared, counts, index, offset).reads, 0) >
  ROWS_READ_MAX;

/** The ids of a page as `found`, with the keys that `order` compares. `walking: false` gathers every branch. */
export function pageStatement(
  sql: Transaction,
  prepared: Prepared,
  { counts, offset, walking }: { counts: Counts; offset: number; walking: boolean },
): { page: Fragment; order: Fragment } {
  const { query, ordering, selections } = prepared;
  const parts = selections.flatMap((selection, index) => {
    if ((counts.branches[index]?.documents ?? 0) === 0) return [];
    const { form } = formOf(prepared, counts, index, offset);
    return [partStatement(sql, prepared, selection, walking ? form : 'gathered')];
  });
  const order = ordering.collected;
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) {
    const own = only.order === undefined ? sql`ORDER BY ${order}` : sql`ORDER BY ${only.order}`;
    return { page: sql`${only.select} ${own} LIMIT ${query.limit} OFFSET ${offset}`, order };
  }
  const cut = parts.map((part) =>
    part.order === undefined
      ? sql`(${part.select})`
      : sql`(${part.select} ORDER BY ${part.order} LIMIT ${offset + query.limit})`,
  );
  return {
    page: sql`SELECT * FROM (${union(sql, cut)}) parts ORDER BY ${order} LIMIT ${query.limit} OFFSET ${offset}`,
    order,
  };
}

/** Everything that matches, with the keys that `order` compares. */
export function matchesStatement(sql: Transaction, prepared: Prepared): Fragment {
  const { conditions, ordering, selections, text } = prepared;
  const [first] = selections;
  if (isBounded(prepared) && first !== undefined) {
    const fenced = prepared.size === 'small' && text === undefined && readsText(prepared);
    const whole = isLasting(prepared) ? textsOfRow(sql) : allTexts(sql);
    const joined = first.texts !== undefined || ordering.texts ? whole : undefined;
    const texts = text === undefined ? joined : first.texts;
    const branches = selections.map(({ branch }) => branch);
    const { from, where } = rowsTogether(sql, { ...first, texts }, branches, { ...conditions, fenced });
    return sql`SELECT ${ordering.columns} FROM ${from} WHERE ${where}`;
  }
  const branches = Map.groupBy(selections, ({ branch }) => [branch.required, branch.excluded].join());
  const parts = [...branches.values()].flatMap((alike) => {
    const classes = alike.map(({ branch }) => branch.class);
    const [selection] = alike;
    if (selection === undefined) return [];
    const { from, where } = keyedRows(sql, prepared, selection, classes);
    return [sql`SELECT ${ordering.columns} FROM ${from} WHERE ${where}`];
  });
  return union(sql, parts);
}

/**
 * A page and the total, where every match has to be read for either: each is read once. Where the page is empty, one row holds
 * the total alone.
 */
export function wholeStatement(sql: Transaction, prepared: Prepared): { page: Fragment; order: Fragment } {
  const { query, ordering } = prepared;
  const order = ordering.collected;
  return {
    page: sql`
      WITH matching AS MATERIALIZED (${matchesStatement(sql, prepared)})
      SELECT * FROM (SELECT count(*)::float8 AS total FROM matching) counted LEFT JOIN (
        SELECT * FROM matching ORDER BY ${order} LIMIT ${query.limit} OFFSET ${query.offset}) cut ON true`,
    order,
  };
}

/** `order` is given where the part comes in the order of an index; otherwise it is a whole to be sorted. */
function partStatement(
  sql: Transaction,
  prepared: Prepared,
  selection: Selection,
  form: Form,
): { select: Fragment; order?: Fragment } {
  const { query, ordering } = prepared;
  const { from, where } = keyedRows(sql, prepared, selection);
  if (form === 'walked') {
    const sized =
      query.order[0]?.attribute === 'file_size' ? sql`${where} AND s.file_size IS NOT NULL` : where;
    return { select: sql`SELECT ${ordering.columns} FROM ${from} WHERE ${sized}`, order: ordering.walked };
  }
  // The planner must not take the whole for a walk that ends early.
  return {
    select: sql`SELECT * FROM (SELECT ${ordering.columns} FROM ${from} WHERE ${where} OFFSET 0) gathered`,
  };
}

/** Rows with everything that the order compares. */
function keyedRows(
  sql: Transaction,
  { ordering }: Prepared,
  selection: Selection,
  classes?: readonly number[],
) {
  const texts = selection.texts ?? (ordering.texts ? allTexts(sql) : undefined);
  return rows(sql, { ...selection, texts }, classes);
}

/** A deep page of everything visible, by time: starts at the day in which it begins. */
export async function skipDays(
  sql: Transaction,
  prepared: Prepared,
  counts: Counts,
): Promise<{ prepared: Prepared; offset: number }> {
  const { query, conditions, rowTests, selections } = prepared;
  const { offset } = query;
  const [first, ...others] = query.order;
  const everything =
    rowTests.length + conditions.required.length + conditions.excluded.length === 0 &&
    conditions.from === undefined &&
    conditions.until === undefined;
  if (offset < SKIP_OFFSET_MIN || !everything || first?.attribute !== 'created_at' || others.length > 0)
    return { prepared, offset };
  const days = await sql<{ day: number; documents: number }[]>`
    SELECT extract(epoch FROM day)::float8 * 1000 AS day, sum(documents)::float8 AS documents
    FROM (${union(
      sql,
      selections.map((selection) => byDay(sql, selection)),
    )}) counted GROUP BY 1 ORDER BY 1`;
  if (first.descending) days.reverse();
  let passed = 0;
  for (const { day, documents } of days) {
    if (passed + documents > offset) {
      const span = first.descending ? { until: day + DAY_MS } : { from: day };
      const narrowed = selections.map((selection) => ({ ...selection, ...span }));
      return { prepared: { ...prepared, selections: narrowed }, offset: offset - passed };
    }
    passed += documents;
  }
  // The counts have changed meanwhile; the long way finds what is there now.
  return { prepared, offset: Math.min(offset, counts.total) };
}

function byDay(sql: Transaction, selection: Selection): Fragment {
  const { workspaceId, branch } = selection;
  if (branch.excluded === undefined) return dailyCounts(sql, workspaceId, branch);
  const { from, where } = rows(sql, selection);
  return sql`SELECT (s.created_at AT TIME ZONE 'UTC')::date, 1 FROM ${from} WHERE ${where}`;
}
