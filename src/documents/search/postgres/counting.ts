// Totals, exact and without reading the documents where terms and maintained counts can tell.

import type { Transaction } from '../../../infra/postgres/client.ts';
import { all, type Fragment, list } from './fragments.ts';
import type { Prepared } from './prepared.ts';
import { countBranch, inBranches, postings, type Selection, within } from './statements.ts';

export type Counts = {
  total: number;
  /** In the order of the selections. `documents` is exact where `exact` says so, else an estimate. */
  branches: { documents: number; visible: number; inClass: number }[];
  exact: boolean;
};

export async function countSelections(sql: Transaction, prepared: Prepared): Promise<Counts> {
  const { selections } = prepared;
  const exact = selections.every(({ test }) => test === undefined);
  const columns = selections.flatMap((selection, index) => [
    sql`(${countBranch(sql, selection)})::float8 AS ${sql(`v${index}`)}`,
    sql`(${countClass(sql, selection)})::float8 AS ${sql(`c${index}`)}`,
    ...(exact ? [sql`(${countMatches(sql, selection)})::float8 AS ${sql(`m${index}`)}`] : []),
  ]);
  const [row = {}] = await sql<Record<string, number>[]>`
    SELECT ${list(sql, [...columns, ...(exact ? [] : [sql`(${countRows(sql, prepared)})::float8 AS total`])])}`;
  const visible = selections.map((_, index) => row[`v${index}`] ?? 0);
  const sum = visible.reduce((left, right) => left + right, 0);
  const total = exact ? undefined : (row['total'] ?? 0);
  const branches = selections.map((_, index) => ({
    visible: visible[index] ?? 0,
    inClass: row[`c${index}`] ?? 0,
    documents:
      total === undefined ? (row[`m${index}`] ?? 0) : sum === 0 ? 0 : (total * (visible[index] ?? 0)) / sum,
  }));
  return {
    total: total ?? branches.reduce((left, { documents }) => left + documents, 0),
    branches,
    exact,
  };
}

/** All of a selection's class, whoever sees it. */
const countClass = (sql: Transaction, selection: Selection): Fragment => {
  const { class: number } = selection.branch;
  return countBranch(sql, { ...selection, branch: { class: number }, from: undefined, until: undefined });
};

/** What of a selection fulfils the terms: from the postings, or by subtraction from all that is visible. */
function countMatches(sql: Transaction, selection: Selection): Fragment {
  const { branch, required, excluded } = selection;
  const own = branch.required === undefined ? 0 : 1;
  const more = excluded.filter((term) => term !== branch.excluded);
  const count = (counted: Selection) => sql`SELECT count(*) FROM (${postings(sql, counted)}) found`;
  if (required.length > own) return count(selection);
  if (more.length === 0) return countBranch(sql, selection);
  if (own > 0) return count(selection);
  return sql`${countBranch(sql, selection)} - (${count({ ...selection, required: [more], excluded: [] })})`;
}

/** Everything found, by asking the rows: one pass over all branches. */
function countRows(sql: Transaction, { query, conditions, selections }: Prepared): Fragment {
  const texts = conditions.rows.some((row) => row.texts);
  const branches = selections.map(({ branch }) => branch);
  return sql`
    SELECT count(*) FROM document_search s ${texts ? sql`JOIN document_texts t ON t.id = s.id` : sql``}
    WHERE ${inBranches(sql, query.viewer.workspaceId, branches)} AND ${all(sql, [
      within(sql, conditions, sql`s.created_at`),
      ...termTests(sql, conditions),
      ...conditions.rows.map((row) => row.sql),
    ])}`;
}

/** The terms of a query's own conditions, asked of the row `s`. */
export const termTests = (
  sql: Transaction,
  { required, excluded }: { required: readonly string[][]; excluded: readonly string[] },
): Fragment[] => [
  ...required.map((group) => sql`s.terms && ${group}::uuid[]`),
  ...(excluded.length === 0 ? [] : [sql`NOT s.terms && ${excluded as string[]}::uuid[]`]),
];
