// One page of what was counted. Each branch is walked in the order of an index where a good part of what is passed
// belongs to the answer, and otherwise gathered whole and sorted.

import type { Transaction } from '../../../infra/postgres/client.ts';
import type { Counts } from './counting.ts';
import { type Fragment, union } from './fragments.ts';
import type { Prepared } from './prepared.ts';
import { DAY_MS, dailyCounts, postings, rows, type Selection } from './statements.ts';

/** Attributes with an index of (workspace, class, attribute, id). */
const WALKED: ReadonlySet<string> = new Set(['created_at', 'name', 'file_size']);
/** From this offset on it pays to ask by day where the page begins. */
const SKIP_OFFSET_MIN = 500;
/** Rows that a search may read without waiting for the other slow ones. */
const ROWS_READ_MAX = 30_000;

type Form = 'postings' | 'rows' | 'gathered' | 'gathered-rows';

/** How a branch is read, and about how many rows that reads. */
function formOf(
  prepared: Prepared,
  counts: Counts,
  index: number,
  offset: number,
): { form: Form; reads: number } {
  const { query, text } = prepared;
  const selection = prepared.selections[index] as Selection;
  const { documents, visible, inClass } = counts.branches[index] ?? { documents: 0, visible: 0, inClass: 0 };
  const wanted = offset + query.limit;
  const first = query.order[0]?.attribute ?? '';
  const byTerms = selection.test === undefined && selection.required.length > 0;
  const gathered = byTerms
    ? { form: 'gathered' as const, reads: documents }
    : {
        form: 'gathered-rows' as const,
        reads: selection.branch.required === undefined ? documents : visible,
      };
  if (text !== undefined || !WALKED.has(first)) return gathered;
  const [group = []] = selection.required;
  const alone = selection.required.length === 1 && group.length === 1 && selection.test === undefined;
  const orderedByTime =
    first === 'created_at' && query.order.every(({ attribute }) => BY_POSTING.has(attribute));
  if (alone && orderedByTime && selection.excluded.every((term) => term === selection.branch.excluded)) {
    return { form: 'postings', reads: wanted };
  }
  const walked = (wanted * inClass) / Math.max(1, documents);
  return walked <= 1.5 * gathered.reads ? { form: 'rows', reads: walked } : gathered;
}

const BY_POSTING: ReadonlySet<string> = new Set(['created_at', 'id']);

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
    if (counts.exact && (counts.branches[index]?.documents ?? 0) === 0) return [];
    const { form } = formOf(prepared, counts, index, offset);
    const chosen = walking || form.startsWith('gathered') ? form : 'gathered-rows';
    return [partStatement(sql, prepared, selection, chosen)];
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

/** `order` is given where the part comes in the order of an index; otherwise it is a whole to be sorted. */
function partStatement(
  sql: Transaction,
  { query, ordering }: Prepared,
  selection: Selection,
  form: Form,
): { select: Fragment; order?: Fragment } {
  const textsOfKeys = ordering.texts ? sql`JOIN document_texts t ON t.id = s.id` : sql``;
  if (form === 'postings') {
    // Every key is in the postings: `s` is only their name.
    return {
      select: sql`SELECT ${ordering.columns} FROM (${postings(sql, selection)}) s`,
      order: ordering.walked,
    };
  }
  if (form === 'gathered') {
    return {
      select: sql`SELECT * FROM (SELECT ${ordering.columns} FROM (${postings(sql, selection)}) p
        JOIN document_search s ON s.id = p.id ${textsOfKeys} OFFSET 0) gathered`,
    };
  }
  const { from, where } = rows(sql, { ...selection, texts: selection.texts || ordering.texts });
  if (form === 'rows') {
    const walked =
      query.order[0]?.attribute === 'file_size' ? sql`${where} AND s.file_size IS NOT NULL` : where;
    return { select: sql`SELECT ${ordering.columns} FROM ${from} WHERE ${walked}`, order: ordering.walked };
  }
  // The planner must not take the whole for a walk that ends early.
  return {
    select: sql`SELECT * FROM (SELECT ${ordering.columns} FROM ${from} WHERE ${where} OFFSET 0) gathered`,
  };
}

/** A deep page of everything visible, by time: starts at the day in which it begins. */
export async function skipDays(
  sql: Transaction,
  prepared: Prepared,
  counts: Counts,
): Promise<{ prepared: Prepared; offset: number }> {
  const { query, conditions, selections } = prepared;
  const { offset } = query;
  const [first, ...others] = query.order;
  const everything =
    conditions.rows.length + conditions.required.length + conditions.excluded.length === 0 &&
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

const byDay = (sql: Transaction, selection: Selection): Fragment =>
  selection.branch.excluded === undefined
    ? dailyCounts(sql, selection.workspaceId, selection.branch)
    : sql`SELECT (created_at AT TIME ZONE 'UTC')::date, 1 FROM (${postings(sql, selection)}) found`;
