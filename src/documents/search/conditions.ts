// Predicates → what every engine can be asked in the same way: terms that documents have, and a span of time. What is
// left is each engine's own to answer, or to decline.

import type { Predicate } from '../filter/ast.ts';
import { createTerms, type RarerSide } from './terms.ts';

export type Conditions = {
  /** Of each group one term at least. */
  required: string[][];
  /** None of these terms. */
  excluded: string[];
  /** Created from (inclusive) and until (exclusive), in milliseconds. */
  from: number | undefined;
  until: number | undefined;
  /** Everything else, all of which must hold. */
  rest: Predicate[];
};

/** Status predicates are left out: the classes of the query's branches say what they allow. */
export function toConditions(workspaceId: string, predicates: readonly Predicate[]): Conditions {
  const conditions: Conditions = {
    required: [],
    excluded: [],
    from: undefined,
    until: undefined,
    rest: [],
  };
  for (const predicate of predicates) {
    if (predicate.attribute === 'status') continue;
    const terms = termsOf(workspaceId, predicate);
    if (terms === undefined) {
      if (!(predicate.attribute === 'created_at' && narrow(conditions, predicate)))
        conditions.rest.push(predicate);
    } else if (terms.negated === predicate.negated) conditions.required.push(terms.any);
    else conditions.excluded.push(...terms.any);
  }
  return conditions;
}

/** What every engine reads as a date-time of four digits a year; no document is older or younger. */
const MS_MIN = Date.parse('0001-01-02T00:00:00Z');
const MS_MAX = Date.parse('9999-12-30T00:00:00Z');

export const clampMs = (ms: number): number => Math.min(Math.max(ms, MS_MIN), MS_MAX);

/** The terms that a predicate asks for, or (negated) must find absent; undefined where terms can't tell. */
function termsOf(workspaceId: string, predicate: Predicate): { any: string[]; negated: boolean } | undefined {
  const terms = createTerms(workspaceId);
  if (predicate.test.kind === 'empty') {
    const side = 'key' in predicate && predicate.key !== undefined ? undefined : SIDES[predicate.attribute];
    return side === undefined ? undefined : { any: [terms.side(side)], negated: side.startsWith('filled') };
  }
  if (predicate.test.kind !== 'one-of') return undefined;
  const { values } = predicate.test;
  const having = (term: (value: string) => string) => ({ any: values.map(term), negated: false });
  switch (predicate.attribute) {
    case 'owner_id':
      return having(terms.owner);
    case 'tags':
    case 'categories':
    case 'file_type':
    case 'file_hash': {
      const { attribute } = predicate;
      return having((value) => terms.label(attribute, value));
    }
    case 'access':
    case 'slots': {
      const { attribute, key } = predicate;
      return key === undefined ? undefined : having((value) => terms.leaf(attribute, key, value));
    }
    default:
      return undefined;
  }
}

const SIDES: Partial<Record<Predicate['attribute'], RarerSide>> = {
  tags: 'empty:tags',
  categories: 'empty:categories',
  file_type: 'empty:file_type',
  file_hash: 'empty:file_hash',
  summary: 'filled:summary',
  slots: 'filled:slots',
  access: 'filled:access',
};

/** Takes a comparison of created_at into the span; false where it is none that a span can say. */
function narrow(conditions: Conditions, { negated, test }: Predicate): boolean {
  if (negated || test.kind !== 'compare') return false;
  const { comparison } = test;
  const value = clampMs(test.value);
  const after = (ms: number) => {
    conditions.from = Math.max(conditions.from ?? ms, ms);
  };
  const before = (ms: number) => {
    conditions.until = Math.min(conditions.until ?? ms, ms);
  };
  if (comparison === 'eq' || comparison === 'gte') after(value);
  if (comparison === 'gt') after(value + 1);
  if (comparison === 'eq' || comparison === 'lte') before(value + 1);
  if (comparison === 'lt') before(value);
  return true;
}
