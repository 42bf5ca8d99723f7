// A query, prepared: everything that can be known before the documents are read.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import { branchesOf } from '../branches.ts';
import { type Conditions, toConditions } from '../conditions.ts';
import type { SearchQuery } from '../query.ts';
import type { CommonTerms } from './common-terms.ts';
import { all } from './fragments.ts';
import { type Ordering, toOrdering } from './ordering.ts';
import { findHoldingWords, type RowTest, toRowTest } from './row-tests.ts';
import { allTexts, type Selection } from './statements.ts';
import { createSpelling, type TextSearch } from './text.ts';

export type Prepared = {
  query: SearchQuery;
  conditions: Conditions;
  /** What the row is asked beyond terms and time. */
  rowTests: RowTest[];
  /** Disjoint; what the viewer may find is what they hold together. */
  selections: Selection[];
  ordering: Ordering;
  text: TextSearch | undefined;
};

export function createPrepare(deps: { sql: Transaction; bucket: string; common: CommonTerms }) {
  const { sql, bucket, common } = deps;
  const understand = createSpelling(sql);
  return async (query: SearchQuery): Promise<Prepared> => {
    const { workspaceId } = query.viewer;
    const text = query.text === undefined ? undefined : await understand(workspaceId, query.text);
    const vocabulary = await findHoldingWords(sql, query.predicates);
    const conditions = toConditions(workspaceId, query.predicates, vocabulary);
    const { required, excluded, from, until } = conditions;
    const context = { sql, workspaceId, bucket, vocabulary };
    const rowTests = conditions.rest.map((predicate) => toRowTest(context, predicate));
    const test = rowTests.length === 0 ? undefined : all(sql, rowTests.map(toSql));
    const texts = rowTests.some((row) => row.texts) ? allTexts(sql) : undefined;
    const isText =
      test === undefined &&
      conditions.required.length + excluded.length === 0 &&
      (from ?? until) === undefined;
    const selections = branchesOf(query).map((branch) => ({
      workspaceId,
      from,
      until,
      test,
      branch,
      texts: text === undefined ? texts : ranked(sql, text, isText && branch.required === undefined),
      required: branch.required === undefined ? required : [[branch.required], ...required],
      excluded: branch.excluded === undefined ? excluded : [...new Set([branch.excluded, ...excluded])],
      narrow: branch.required !== undefined && !common.areAll([[branch.required]]),
    }));
    if (text !== undefined) rowTests.push({ sql: text.matches, texts: true, slow: false });
    const ordering = toOrdering(sql, query.order, text && sql`t.rank`);
    return { query, conditions, rowTests, selections, ordering, text };
  };
}

/**
 * The rows that match a text, with their `rank`. Where it is all that is asked, they are ranked before they are joined:
 * otherwise Postgres would carry their words through the join.
 */
const ranked = (sql: Transaction, { matches, rank }: TextSearch, first: boolean): Fragment =>
  sql`(SELECT t.*, ${rank} AS rank FROM document_texts t WHERE ${matches} ${first ? sql`OFFSET 0` : sql``})`;

const toSql = (row: RowTest) => row.sql;
