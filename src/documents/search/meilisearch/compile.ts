// A search in the language of Meilisearch, or nothing where Meilisearch could not answer exactly. Conditions are only terms,
// classes and numbers, so that its own rules of comparing text do not apply.

import type { Order, Predicate } from '../../filter/ast.ts';
import type { Visible } from '../conditions.ts';
import type { SearchPlan } from '../postgres/statement.ts';
import { toMirroredTerm } from './document.ts';

export type Compiled = {
  /** All of them hold. */
  filter: string[];
  sort: string[];
};

/** Deeper pages take Meilisearch longer than Postgres. */
const OFFSET_MAX = 1000;
/** Terms in one query; beyond it the filter takes longer to read than to answer. */
const TERMS_MAX = 500;

/** Undefined: Postgres has to answer. */
export function compile({
  query,
  conditions,
}: Pick<SearchPlan, 'query' | 'conditions'>): Compiled | undefined {
  const { visible, required, excluded, rest } = conditions;
  const { text, offset, limit, viewer } = query;
  const tests = rest.map(compileTest);
  const sort = query.order.map(compileOrder);
  if (offset > OFFSET_MAX || required.flat().length + excluded.length > TERMS_MAX) return undefined;
  // Pages of words are numbered.
  if (text !== undefined && offset % limit !== 0) return undefined;
  if (!tests.every((test) => test !== undefined) || !sort.every((each) => each !== undefined))
    return undefined;
  return {
    filter: [
      `workspace = ${quote(viewer.workspaceId)}`,
      compileVisible(visible),
      ...required.map(hasOneOf),
      ...(excluded.length === 0 ? [] : [`NOT (${hasOneOf(excluded)})`]),
      ...tests,
    ],
    sort: [...sort.flat(), 'id:asc'],
  };
}

/** Text as a value, whatever stands in it. */
const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const hasOneOf = (terms: readonly string[]): string =>
  `terms IN [${terms.map((term) => quote(toMirroredTerm(term))).join(', ')}]`;

const compileVisible = ({ whole, own, curated, owner, curator }: Visible): string =>
  [
    ...(whole.length === 0 ? [] : [`class IN [${whole.join(', ')}]`]),
    ...(own.length === 0 ? [] : [`(class IN [${own.join(', ')}] AND ${hasOneOf([owner])})`]),
    ...(curated.length === 0 ? [] : [`(class IN [${curated.join(', ')}] AND ${hasOneOf([curator])})`]),
  ].join(' OR ');

const COMPARISONS = { eq: '=', gt: '>', lt: '<', gte: '>=', lte: '<=' } as const;

function compileTest({ attribute, test, negated }: Predicate): string | undefined {
  if (attribute !== 'created_at' && attribute !== 'file_size') return undefined;
  const present = attribute === 'created_at' ? '' : 'no_size = 0 AND ';
  const positive =
    test.kind === 'compare'
      ? `${present}${attribute} ${COMPARISONS[test.comparison]} ${test.value}`
      : attribute === 'created_at'
        ? undefined
        : 'no_size = 1';
  if (positive === undefined) return undefined;
  return negated ? `NOT (${positive})` : positive;
}

function compileOrder({ attribute, descending }: Order): string[] | undefined {
  const direction = descending ? 'desc' : 'asc';
  if (attribute === 'file_size') return ['no_size:asc', `file_size:${direction}`];
  return attribute === 'created_at' || attribute === 'id' ? [`${attribute}:${direction}`] : undefined;
}
