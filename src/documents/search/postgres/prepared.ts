// A query, understood: everything that can be known before the documents are asked.

import type { Transaction } from '../../../infra/postgres/client.ts';
import { branchesOf } from '../branches.ts';
import type { SearchQuery } from '../search-index.ts';
import { type Conditions, toConditions } from './conditions.ts';
import { type Ordering, toOrdering } from './ordering.ts';
import { type Selection, toSelection } from './statements.ts';
import { createSpelling, type TextSearch } from './text.ts';

export type Prepared = {
  query: SearchQuery;
  conditions: Conditions;
  /** Disjoint; what the viewer may find is what they hold together. */
  selections: Selection[];
  ordering: Ordering;
  text: TextSearch | undefined;
};

export type Prepare = (query: SearchQuery) => Promise<Prepared>;

export function createPrepare({ sql, bucket }: { sql: Transaction; bucket: string }): Prepare {
  const understand = createSpelling(sql);
  return async (query) => {
    const { workspaceId } = query.viewer;
    const text = query.text === undefined ? undefined : await understand(workspaceId, query.text);
    const conditions = toConditions({ sql, workspaceId, bucket }, query.predicates);
    if (text !== undefined) conditions.rows.push({ sql: text.matches, texts: true, slow: false });
    return {
      query,
      conditions,
      selections: branchesOf(query).map((branch) => toSelection(sql, workspaceId, branch, conditions)),
      ordering: toOrdering(sql, query.order, text?.rank),
      text,
    };
  };
}
