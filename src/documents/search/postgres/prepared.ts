// A query, prepared: everything that can be known before the documents are read.

import type { Transaction } from '../../../infra/postgres/client.ts';
import { branchesOf } from '../branches.ts';
import { type Conditions, toConditions } from '../conditions.ts';
import type { SearchQuery } from '../query.ts';
import type { CommonTerms } from './common-terms.ts';
import { all } from './fragments.ts';
import { type Ordering, toOrdering } from './ordering.ts';
import { findHoldingWords, type RowTest, toRowTest } from './row-tests.ts';
import type { Selection } from './statements.ts';
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
    if (text !== undefined) rowTests.push({ sql: text.matches, texts: true, slow: false });
    const whole = {
      workspaceId,
      from,
      until,
      texts: rowTests.some((row) => row.texts),
      test: rowTests.length === 0 ? undefined : all(sql, rowTests.map(toSql)),
    };
    const selections = branchesOf(query).map((branch) => ({
      ...whole,
      branch,
      required: branch.required === undefined ? required : [[branch.required], ...required],
      excluded: branch.excluded === undefined ? excluded : [...new Set([branch.excluded, ...excluded])],
      narrow: branch.required !== undefined && !common.areAll([[branch.required]]),
    }));
    return {
      query,
      conditions,
      rowTests,
      selections,
      ordering: toOrdering(sql, query.order, text?.rank),
      text,
    };
  };
}

const toSql = (row: RowTest) => row.sql;
