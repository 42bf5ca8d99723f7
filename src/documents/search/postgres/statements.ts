// The parts of the search statements: which rows a branch has under the conditions, in postings, counts or rows.

import type { Transaction } from '../../../infra/postgres/client.ts';
import type { Branch } from '../branches.ts';
import type { Conditions } from './conditions.ts';
import { all, any, type Fragment } from './fragments.ts';

/** Term groups that are matched posting by posting; the rest is asked of the row. */
const POSTING_GROUPS_MAX = 3;

/** Whom the maintained counts call everybody. */
export const EVERYBODY = '00000000-0000-0000-0000-000000000000';

export const DAY_MS = 86_400_000;

/** A branch of a query with everything that its rows must fulfil. */
export type Selection = {
  workspaceId: string;
  branch: Branch;
  /** Each group holds alternatives; the branch's own term comes first. */
  required: readonly (readonly string[])[];
  excluded: readonly string[];
  from: number | undefined;
  until: number | undefined;
  /** Tests of `s` and `t` together. */
  test: Fragment | undefined;
  texts: boolean;
};

export function toSelection(
  sql: Transaction,
  workspaceId: string,
  branch: Branch,
  given: Conditions,
): Selection {
  const { required: own, excluded } = branch;
  const groups = [...(own === undefined ? [] : [[own]]), ...given.required];
  const late = groups.slice(POSTING_GROUPS_MAX).map((group) => sql`s.terms && ${group}::uuid[]`);
  const tests = [...given.rows.map((row) => row.sql), ...late];
  return {
    workspaceId,
    branch,
    required: groups.slice(0, POSTING_GROUPS_MAX),
    excluded: [...new Set([...(excluded === undefined ? [] : [excluded]), ...given.excluded])],
    from: given.from,
    until: given.until,
    test: tests.length === 0 ? undefined : all(sql, tests),
    texts: given.rows.some((row) => row.texts),
  };
}

const time = (ms: number): string => new Date(ms).toISOString();

/** The span of time as a condition on a column. */
export function within(
  sql: Transaction,
  { from, until }: Pick<Selection, 'from' | 'until'>,
  column: Fragment,
): Fragment {
  return all(sql, [
    ...(from === undefined ? [] : [sql`${column} >= ${time(from)}::timestamptz`]),
    ...(until === undefined ? [] : [sql`${column} < ${time(until)}::timestamptz`]),
  ]);
}

/** Rows `p (term, class, created_at, id)` of the postings that fulfil a selection's terms and span of time. */
export function postings(sql: Transaction, selection: Selection): Fragment {
  const { branch, required, excluded } = selection;
  const [first = [], ...others] = required;
  const same = (alias: Fragment, terms: readonly string[]) => sql`
    SELECT FROM document_postings ${alias}
    WHERE ${alias}.term = ANY (${terms as string[]}::uuid[]) AND ${alias}.class = ${branch.class}::smallint
      AND ${alias}.created_at = p.created_at AND ${alias}.id = p.id`;
  const source =
    first.length === 1
      ? sql`SELECT created_at, id FROM document_postings p
            WHERE term = ${first[0] as string}::uuid AND class = ${branch.class}::smallint
              AND ${within(sql, selection, sql`created_at`)}`
      : sql`SELECT DISTINCT created_at, id FROM document_postings p
            WHERE term = ANY (${first as string[]}::uuid[]) AND class = ${branch.class}::smallint
              AND ${within(sql, selection, sql`created_at`)}`;
  if (others.length === 0 && excluded.length === 0) return source;
  return sql`SELECT created_at, id FROM (${source}) p WHERE ${all(sql, [
    ...others.map((group) => sql`EXISTS (${same(sql`q`, group)})`),
    ...(excluded.length === 0 ? [] : [sql`NOT EXISTS (${same(sql`q`, excluded)})`]),
  ])}`;
}

/** Rows `s` (and `t`) of a branch under all conditions, for FROM and WHERE. */
export function rows(sql: Transaction, selection: Selection): { from: Fragment; where: Fragment } {
  const { workspaceId, branch, required, excluded, test, texts } = selection;
  return {
    from: texts ? sql`document_search s JOIN document_texts t ON t.id = s.id` : sql`document_search s`,
    where: all(sql, [
      sql`s.workspace_id = ${workspaceId} AND s.class = ${branch.class}::smallint`,
      within(sql, selection, sql`s.created_at`),
      ...required.map((group) => sql`s.terms && ${group as string[]}::uuid[]`),
      ...(excluded.length === 0 ? [] : [sql`NOT s.terms && ${excluded as string[]}::uuid[]`]),
      ...(test === undefined ? [] : [test]),
    ]),
  };
}

/** Whether a row `s` belongs to one of the branches. */
export const inBranches = (sql: Transaction, workspaceId: string, branches: readonly Branch[]): Fragment =>
  sql`s.workspace_id = ${workspaceId} AND (${any(
    sql,
    branches.map(
      ({ class: number, required, excluded }) => sql`(s.class = ${number}::smallint
        AND ${required === undefined ? sql`true` : sql`s.terms @> ARRAY[${required}::uuid]`}
        AND ${excluded === undefined ? sql`true` : sql`NOT s.terms @> ARRAY[${excluded}::uuid]`})`,
    ),
  )})`;

/** Rows `(day, documents)` of the maintained counts of a class, or of one owner's part of it. */
export function dailyCounts(
  sql: Transaction,
  workspaceId: string,
  { class: number, owner }: Branch,
): Fragment {
  const ownerOnly = owner === undefined ? sql`true` : sql`owner_id = ${owner}::uuid`;
  return sql`
    SELECT day, documents FROM document_counts
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND subject = ${owner ?? EVERYBODY}::uuid
    UNION ALL
    SELECT day, documents FROM document_count_changes
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND ${ownerOnly}`;
}

/** How many documents a branch has in all, of which kind ever: a scalar. */
export function countBranch(sql: Transaction, selection: Selection): Fragment {
  const { workspaceId, branch } = selection;
  if (branch.excluded !== undefined) {
    return sql`(SELECT count(*) FROM (${postings(sql, {
      ...selection,
      required: [[branch.required as string]],
      excluded: [branch.excluded],
    })}) found)`;
  }
  return sql`(SELECT coalesce(sum(documents), 0) FROM (${dailyCounts(sql, workspaceId, branch)}) counted
    WHERE ${withinDays(sql, selection)}) + ${edges(sql, selection)}`;
}

/** Whole days inside the span. */
function withinDays(sql: Transaction, { from, until }: Selection): Fragment {
  return all(sql, [
    ...(from === undefined
      ? []
      : [sql`day >= (${time(dayAfter(from))}::timestamptz AT TIME ZONE 'UTC')::date`]),
    ...(until === undefined
      ? []
      : [sql`day < (${time(dayOf(until))}::timestamptz AT TIME ZONE 'UTC')::date`]),
  ]);
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
const dayAfter = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS;

/** The parts of days at both ends of the span, counted in the index. */
function edges(sql: Transaction, selection: Selection): Fragment {
  const { workspaceId, branch, from, until } = selection;
  const spans: { from: number; until: number }[] = [];
  if (from !== undefined && until !== undefined && dayAfter(from) > dayOf(until)) {
    if (from < until) spans.push({ from, until });
  } else {
    if (from !== undefined && from < dayAfter(from)) spans.push({ from, until: dayAfter(from) });
    if (until !== undefined && dayOf(until) < until) spans.push({ from: dayOf(until), until });
  }
  const counts = spans.map((span) =>
    branch.required === undefined
      ? sql`(SELECT count(*) FROM document_search s WHERE s.workspace_id = ${workspaceId}
          AND s.class = ${branch.class}::smallint AND ${within(sql, span, sql`s.created_at`)})`
      : sql`(SELECT count(*) FROM document_postings p WHERE p.term = ${branch.required}::uuid
          AND p.class = ${branch.class}::smallint AND ${within(sql, span, sql`p.created_at`)})`,
  );
  return counts.reduce((sum, count) => sql`${sum} + ${count}`, sql`0`);
}
