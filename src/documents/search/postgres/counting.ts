// Totals, exact and without reading documents wherever maintained counts or bitmaps can tell.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { CommonTerms } from './common-terms.ts';
import { list } from './fragments.ts';
import type { Prepared } from './prepared.ts';
import { countBitmaps, countDays, countRows, type Selection, splitDays } from './statements.ts';

export type Counts = {
  total: number;
  /** Everything in the classes of the selections. */
  inClasses: number;
  /** In the order of the selections: what matches, and everything in the class, in the whole or in the span of time. */
  branches: { documents: number; inClass: number; inSpan: number }[];
};

const ALWAYS = { from: undefined, until: undefined };

export async function countSelections(
  sql: Transaction,
  { query, selections }: Prepared,
  common: CommonTerms,
): Promise<Counts> {
  const { workspaceId } = query.viewer;
  const classes = [...new Set(selections.map(({ branch }) => branch.class))];
  const days = splitDays(selections[0] ?? ALWAYS).days;
  const spanned = days !== undefined && (days.from ?? days.until) !== undefined;
  const columns = [
    ...classes.flatMap((number) => [
      sql`${countDays(sql, workspaceId, { class: number }, ALWAYS)}::float8 AS ${sql(`c${number}`)}`,
      ...(spanned
        ? [sql`${countDays(sql, workspaceId, { class: number }, days)}::float8 AS ${sql(`s${number}`)}`]
        : []),
    ]),
    ...selections.flatMap((selection, index) =>
      isWholeClass(selection)
        ? []
        : [sql`(${countMatches(sql, selection, common)})::float8 AS ${sql(`m${index}`)}`],
    ),
  ];
  const [row = {}] = await sql<Record<string, number>[]>`SELECT ${list(sql, columns)}`;
  const branches = selections.map(({ branch }, index) => {
    const inClass = row[`c${branch.class}`] ?? 0;
    return { documents: row[`m${index}`] ?? inClass, inClass, inSpan: row[`s${branch.class}`] ?? inClass };
  });
  const inClasses = classes.reduce((sum, number) => sum + (row[`c${number}`] ?? 0), 0);
  return { total: branches.reduce((sum, { documents }) => sum + documents, 0), inClasses, branches };
}

/** Everything in the classes of the selections: a scalar. */
export const countClasses = (sql: Transaction, selections: readonly Selection[]): Fragment =>
  [...new Set(selections.map(({ branch }) => branch.class))]
    .map((number) => countDays(sql, selections[0]?.workspaceId ?? '', { class: number }, ALWAYS))
    .reduce((sum, count) => sql`${sum} + ${count}`, sql`0`);

const isWholeClass = ({ required, excluded, from, until, test }: Selection): boolean =>
  required.length + excluded.length === 0 && from === undefined && until === undefined && test === undefined;

function countMatches(sql: Transaction, selection: Selection, common: CommonTerms): Fragment {
  const { workspaceId, branch, required, excluded, test } = selection;
  if (test !== undefined) return countRows(sql, selection);
  // The own are counted by owner; of the curated there is seldom much, and the index of terms finds them.
  const byOwner = branch.owner !== undefined && required.length === 1 && excluded.length === 0;
  if (!byOwner && !common.areAll([...required, ...(excluded.length === 0 ? [] : [excluded])]))
    return countRows(sql, selection);
  const { days, edges } = splitDays(selection);
  const ends = edges.map((edge) => countRows(sql, { ...selection, ...edge }));
  if (days === undefined) return ends.reduce((sum, end) => sql`${sum} + ${end}`, sql`0`);
  return ends.reduce((sum, end) => sql`${sum} + ${end}`, countWithin(days));

  function countWithin(span: NonNullable<typeof days>): Fragment {
    const whole = { ...selection, ...span };
    if (byOwner) return countDays(sql, workspaceId, branch, span);
    if (required.length > 0) return countBitmaps(sql, whole);
    const all = countDays(sql, workspaceId, branch, span);
    if (excluded.length === 0) return all;
    return sql`${all} - ${countBitmaps(sql, { ...whole, required: [excluded], excluded: [] })}`;
  }
}
