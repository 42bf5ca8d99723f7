// A query, understood: everything that can be known before the documents are asked.

import type { Transaction } from '../../../infra/postgres/client.ts';
import { branchesOf } from '../branches.ts';
import { type Conditions, toConditions } from '../conditions.ts';
import type { SearchQuery } from '../query.ts';
import { createTerms } from '../terms.ts';
import type { CommonTerms } from './common-terms.ts';
import { type Ordering, toOrdering } from './ordering.ts';
import { findHoldingWords, type RowTest, toRowTest } from './row-tests.ts';
import { type Selection, toSelection } from './statements.ts';
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
    const asked = toConditions(workspaceId, query.predicates);
    const vocabulary = await findHoldingWords(sql, asked.rest);
    const conditions = withNames(workspaceId, asked, vocabulary);
    const context = { sql, workspaceId, bucket, vocabulary };
    const rowTests = conditions.rest.map((predicate) => toRowTest(context, predicate));
    if (text !== undefined) rowTests.push({ sql: text.matches, texts: true, slow: false });
    return {
      query,
      conditions,
      rowTests,
      selections: branchesOf(query).map((branch) =>
        toSelection(sql, { workspaceId, branch, conditions, rowTests, common }),
      ),
      ordering: toOrdering(sql, query.order, text?.rank),
      text,
    };
  };
}

/** Beyond it, comparing lists of terms takes longer than looking into the names. */
const NAME_WORDS_MAX = 16;

/**
 * A name contains a piece that is part of a word if and only if it has one of the words that contain the piece: where
 * these are few, that is a matter of terms.
 */
function withNames(
  workspaceId: string,
  conditions: Conditions,
  vocabulary: ReadonlyMap<string, string[]>,
): Conditions {
  const terms = createTerms(workspaceId);
  const { required, excluded, rest, ...span } = conditions;
  const narrowed: Conditions = { ...span, required: [...required], excluded: [...excluded], rest: [] };
  for (const predicate of rest) {
    const { attribute, negated, test } = predicate;
    const words = attribute === 'name' && test.kind === 'contains' ? vocabulary.get(test.value) : undefined;
    if (words === undefined || words.length > NAME_WORDS_MAX) narrowed.rest.push(predicate);
    else if (negated) narrowed.excluded.push(...words.map(terms.inName));
    else narrowed.required.push(words.map(terms.inName));
  }
  return narrowed;
}
