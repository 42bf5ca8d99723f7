// The parts of the search statements: which rows a branch has under the conditions, and how many.

import { clampTime } from '../../../core/date-time.ts';
import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Branch } from '../branches.ts';
import { all, any } from './fragments.ts';

/** The subject under which all owners are counted. */
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
  /** The branch is narrowed to a term that few documents have. */
  narrow: boolean;
  /** Tests of `s` and `t` together. */
  test: Fragment | undefined;
  /** What the rows `t` are taken from, where they are needed. */
  texts: Fragment | undefined;
};

export const allTexts = (sql: Transaction): Fragment => sql`document_texts`;

/** Those of a row `s` alone, whatever is asked of them: a lasting plan must not read all in search of a piece of text. */
export const textsOfRow = (sql: Transaction): Fragment =>
  sql`LATERAL (SELECT * FROM document_texts t WHERE t.id = s.id OFFSET 0)`;

type Span = Pick<Selection, 'from' | 'until'>;

/** The end of the last day is after the year 9999. */
const time = (ms: number): string => new Date(clampTime(ms)).toISOString();

/** A span of time as a condition on a column. */
export const within = (sql: Transaction, { from, until }: Span, column: Fragment): Fragment =>
  all(sql, [
    ...(from === undefined ? [] : [sql`${column} >= ${time(from)}::timestamptz`]),
    ...(until === undefined ? [] : [sql`${column} < ${time(until)}::timestamptz`]),
  ]);

/** Terms asked of a column that holds a row's. */
export const termTests = (
  sql: Transaction,
  { required, excluded }: Pick<Selection, 'required' | 'excluded'>,
  column: Fragment,
): Fragment[] => [
  ...required.map((group) => sql`${column} && ${group as string[]}::uuid[]`),
  ...(excluded.length === 0 ? [] : [sql`NOT ${column} && ${excluded as string[]}::uuid[]`]),
];

/** Rows `s` (and `t`) of a branch, or of the same branch in several classes, under all conditions, for FROM and WHERE. */
export function rows(
  sql: Transaction,
  selection: Selection,
  classes: readonly number[] = [selection.branch.class],
): { from: Fragment; where: Fragment } {
  const { workspaceId, branch, test, texts, narrow } = selection;
  const [first, ...others] = classes;
  const ofClass =
    others.length === 0 ? sql`= ${first ?? null}::smallint` : sql`= ANY (${classes as number[]}::smallint[])`;
  const inBranch = sql`s.workspace_id = ${workspaceId} AND s.class ${ofClass}`;
  const tests = [
    within(sql, selection, sql`s.created_at`),
    ...termTests(sql, selection, sql`s.terms`),
    ...(test === undefined ? [] : [test]),
  ];
  // The planner does not know how few they are, and might prefer to read everything that fulfils the rest.
  const source =
    branch.required !== undefined && narrow
      ? sql`(SELECT * FROM document_search s WHERE ${inBranch} AND s.terms @> ARRAY[${branch.required}::uuid] OFFSET 0) s`
      : sql`document_search s`;
  return {
    from: texts === undefined ? source : sql`${source} JOIN ${texts} t ON t.id = s.id`,
    where: all(sql, [inBranch, ...tests]),
  };
}

/**
 * As `rows`, of all branches at once, for a workspace of which all may be read. A row is found by the terms that are asked for, which
 * name the workspace, too. `fenced`: without terms by its class, and by no index of texts, as that holds those of other workspaces.
 */
export function rowsTogether(
  sql: Transaction,
  { workspaceId, test, texts, ...span }: Selection,
  branches: readonly Branch[],
  { required, excluded, fenced }: Pick<Selection, 'required' | 'excluded'> & { fenced: boolean },
): { from: Fragment; where: Fragment } {
  const classes = [...new Set(branches.map((branch) => branch.class))];
  const inClasses = sql`s.workspace_id = ${workspaceId} AND s.class = ANY (${classes}::smallint[])`;
  const groups = termTests(sql, { required, excluded: [] }, sql`s.terms`);
  const fence = groups.length > 0 ? all(sql, groups) : fenced ? inClasses : undefined;
  const source =
    fence === undefined
      ? sql`document_search s`
      : sql`(SELECT * FROM document_search s WHERE ${fence} OFFSET 0) s`;
  const isWhole = branches.every((branch) => branch.required === undefined);
  return {
    from: texts === undefined ? source : sql`${source} JOIN ${texts} t ON t.id = s.id`,
    where: all(sql, [
      inClasses,
      ...(isWhole ? [] : [inBranches(sql, workspaceId, branches)]),
      within(sql, span, sql`s.created_at`),
      ...termTests(sql, { required: [], excluded }, sql`s.terms`),
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

/** How many rows of a branch fulfil everything, read one by one: a scalar. */
export function countRows(sql: Transaction, selection: Selection): Fragment {
  const { from, where } = rows(sql, selection);
  return sql`(SELECT count(*) FROM ${from} WHERE ${where})`;
}

/** Rows `(day, documents)` of the maintained counts of a class, or of one owner's part of it. */
export function dailyCounts(
  sql: Transaction,
  workspaceId: string,
  branch: Branch,
  span: Span = ALWAYS,
): Fragment {
  const { class: number, owner } = branch;
  const ofOwner = owner === undefined ? sql`true` : sql`owner_id = ${owner}::uuid`;
  return sql`
    SELECT day, documents FROM document_counts
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND subject = ${owner ?? EVERYBODY}::uuid
      AND day > '-infinity' AND ${onDays(sql, span)}
    UNION ALL
    SELECT day, documents FROM document_count_changes
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND ${ofOwner} AND ${onDays(sql, span)}`;
}

const ALWAYS: Span = { from: undefined, until: undefined };

/** Everything in a class, or one owner's part of it, created within whole days: a scalar. */
export function countDays(sql: Transaction, workspaceId: string, branch: Branch, span: Span): Fragment {
  if (span.from !== undefined || span.until !== undefined) {
    const days = dailyCounts(sql, workspaceId, branch, span);
    return sql`(SELECT coalesce(sum(documents), 0) FROM (${days}) counted)`;
  }
  const { class: number, owner } = branch;
  const ofOwner = owner === undefined ? sql`true` : sql`owner_id = ${owner}::uuid`;
  return sql`(SELECT coalesce(sum(documents), 0) FROM (
    SELECT documents FROM document_counts
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND subject = ${owner ?? EVERYBODY}::uuid
      AND day = '-infinity'
    UNION ALL
    SELECT documents FROM document_count_changes
    WHERE workspace_id = ${workspaceId} AND class = ${number}::smallint AND ${ofOwner}) counted)`;
}

/** Documents of a class that have the terms and were created within whole days, from the bitmaps: a scalar. */
export function countBitmaps(sql: Transaction, selection: Selection): Fragment {
  const { workspaceId, branch, required, excluded } = selection;
  const bitmaps = (terms: readonly string[]) =>
    terms.length === 1
      ? sql`(SELECT day, chunk, bits FROM document_bitmaps WHERE term = ${terms[0] as string}::uuid
          AND class = ${branch.class}::smallint AND ${onDays(sql, selection)})`
      : sql`(SELECT day, chunk, bit_or(bits) AS bits FROM document_bitmaps WHERE term = ANY (${terms as string[]}::uuid[])
          AND class = ${branch.class}::smallint AND ${onDays(sql, selection)} GROUP BY day, chunk)`;
  const [first = [], ...others] = required;
  const [joins, bits] = others.reduce(
    ([from, and], group, index): [Fragment, Fragment] => {
      const alias = sql`${sql(`b${index}`)}`;
      return [sql`${from} JOIN ${bitmaps(group)} ${alias} USING (day, chunk)`, sql`${and} & ${alias}.bits`];
    },
    [sql`${bitmaps(first)} b`, sql`b.bits`] as [Fragment, Fragment],
  );
  const without = excluded.length === 0 ? sql`` : sql`LEFT JOIN ${bitmaps(excluded)} x USING (day, chunk)`;
  const left = excluded.length === 0 ? bits : sql`${bits} & ~coalesce(x.bits, 0::bit(4096))`;
  return sql`((SELECT coalesce(sum(bit_count(${left})), 0) FROM ${joins} ${without})
    + (SELECT coalesce(sum(documents), 0) FROM document_count_changes
       WHERE workspace_id = ${workspaceId} AND class = ${branch.class}::smallint AND ${onDays(sql, selection)}
         AND ${all(sql, termTests(sql, selection, sql`terms`))}))`;
}

/** The column `day` within a span that begins and ends with whole days. */
const onDays = (sql: Transaction, { from, until }: Span): Fragment =>
  all(sql, [
    ...(from === undefined ? [] : [sql`day >= ${time(from).slice(0, 10)}::date`]),
    ...(until === undefined ? [] : [sql`day < ${time(until).slice(0, 10)}::date`]),
  ]);

/** A span as the whole days in it and what is left at both ends. */
export function splitDays({ from, until }: Span): { days: Span | undefined; edges: Span[] } {
  const first = from === undefined ? undefined : Math.ceil(from / DAY_MS) * DAY_MS;
  const last = until === undefined ? undefined : Math.floor(until / DAY_MS) * DAY_MS;
  if (first !== undefined && last !== undefined && first >= last) {
    return {
      days: undefined,
      edges: from !== undefined && until !== undefined && from < until ? [{ from, until }] : [],
    };
  }
  return {
    days: { from: first, until: last },
    edges: [
      ...(from !== undefined && first !== undefined && from < first ? [{ from, until: first }] : []),
      ...(until !== undefined && last !== undefined && last < until ? [{ from: last, until }] : []),
    ],
  };
}
