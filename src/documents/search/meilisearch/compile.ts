// A query in the search server's language, or nothing where it could not answer exactly, or not fast.

import type { Order, Predicate } from '../../filter/ast.ts';
import type { Branch } from '../branches.ts';
import type { Prepared } from '../postgres/prepared.ts';
import { toMirroredTerm } from './document.ts';

export type Compiled = {
  /** All of them hold. */
  filter: string[];
  sort: string[];
  /** The fields whose values are the keys of the order, one each. */
  keys: string[];
};

/** Deep pages take the server longer than Postgres, which counts its way to them. */
const OFFSET_MAX = 1000;
/** Terms in one query; beyond it the filter takes longer to read than to answer. */
const TERMS_MAX = 500;

/** Undefined: to be asked of Postgres. */
export function compile({ query, conditions, selections }: Prepared): Compiled | undefined {
  const { required, excluded, from, until, rest } = conditions;
  // Pieces of names may have become terms; Postgres, which knows the words, is faster at them.
  if (query.predicates.some(({ attribute }) => attribute === 'name')) return undefined;
  const tests = rest.map(compileRest);
  const order = query.order.map(compileOrder);
  if (query.offset > OFFSET_MAX || required.flat().length + excluded.length > TERMS_MAX) return undefined;
  if (selections.length === 0 || !tests.every(isGiven) || !order.every(isGiven)) return undefined;
  return {
    filter: [
      `workspace = ${quote(query.viewer.workspaceId)}`,
      selections.map(({ branch }) => compileBranch(branch)).join(' OR '),
      ...required.map(hasOneOf),
      ...(excluded.length === 0 ? [] : [`NOT (${hasOneOf(excluded)})`]),
      ...(from === undefined ? [] : [`created_at >= ${from}`]),
      ...(until === undefined ? [] : [`created_at < ${until}`]),
      ...tests,
    ],
    sort: [...order.flatMap(({ sort }) => sort), 'id:asc'],
    keys: order.map(({ key }) => key),
  };
}

/** Text as a value, whatever stands in it. */
const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

export const isIn = (field: string, values: readonly string[]): string =>
  `${field} IN [${values.map(quote).join(', ')}]`;

const hasOneOf = (terms: readonly string[]): string => isIn('terms', terms.map(toMirroredTerm));

const isGiven = <T>(value: T | undefined): value is T => value !== undefined;

function compileBranch({ class: number, required, excluded }: Branch): string {
  const has = required === undefined ? '' : ` AND ${hasOneOf([required])}`;
  const lacks = excluded === undefined ? '' : ` AND NOT (${hasOneOf([excluded])})`;
  return `(class = ${number}${has}${lacks})`;
}

const COMPARISONS = { eq: '=', gt: '>', lt: '<', gte: '>=', lte: '<=' } as const;

function compileRest(predicate: Predicate): string | undefined {
  const { attribute, test, negated } = predicate;
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

function compileOrder({ attribute, descending }: Order): { sort: string[]; key: string } | undefined {
  const direction = descending ? 'desc' : 'asc';
  switch (attribute) {
    case 'created_at':
    case 'id':
      return { sort: [`${attribute}:${direction}`], key: attribute };
    case 'name':
      return { sort: [`order_name:${direction}`], key: 'order_name' };
    case 'file_size':
      return { sort: ['no_size:asc', `file_size:${direction}`], key: 'file_size' };
    default:
      return undefined;
  }
}
