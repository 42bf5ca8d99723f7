// Predicates as conditions that every engine evaluates in the same way: terms that documents have, and a span of time.
// The rest is for each engine to answer, or to decline.

import type { Predicate } from '../filter/ast.ts';
import { createTerms, RARER_SIDES, type SidedAttribute, type Terms } from './terms.ts';

export type Conditions = {
  /** Of each group one term at least. */
  required: string[][];
  excluded: string[];
  /** Created from (inclusive) and until (exclusive), in milliseconds. */
  from: number | undefined;
  until: number | undefined;
  /** Everything else, all of which must hold. */
  rest: Predicate[];
};

/** Pieces of text, and the words of documents that contain each; those of too many words are left out. */
export type Vocabulary = ReadonlyMap<string, readonly string[]>;

/** Status predicates are left out: the classes of the query's branches say what they allow. */
export function toConditions(
  workspaceId: string,
  predicates: readonly Predicate[],
  vocabulary: Vocabulary,
): Conditions {
  const conditions: Conditions = { required: [], excluded: [], from: undefined, until: undefined, rest: [] };
  for (const predicate of predicates) {
    if (predicate.attribute === 'status') continue;
    const terms = termsOf(createTerms(workspaceId), predicate, vocabulary);
    if (terms === undefined) {
      if (!(predicate.attribute === 'created_at' && narrow(conditions, predicate)))
        conditions.rest.push(predicate);
    } else if (terms.negated === predicate.negated) conditions.required.push(terms.any);
    else conditions.excluded.push(...terms.any);
  }
  return conditions;
}

/** Beyond it, comparing lists of terms takes longer than looking into the names. */
const NAME_WORDS_MAX = 16;

/** The terms that a predicate asks for, or (negated) must find absent; undefined where terms do not decide it. */
function termsOf(
  terms: Terms,
  predicate: Predicate,
  vocabulary: Vocabulary,
): { any: string[]; negated: boolean } | undefined {
  if (predicate.test.kind === 'empty') {
    const { attribute } = predicate;
    if (!hasRarerSide(attribute) || ('key' in predicate && predicate.key !== undefined)) return undefined;
    return { any: [terms.side(attribute)], negated: RARER_SIDES[attribute] === 'filled' };
  }
  if (predicate.attribute === 'name' && predicate.test.kind === 'contains') {
    // A name contains a piece that is part of a word if and only if it has one of the words that contain the piece.
    const words = vocabulary.get(predicate.test.value);
    const few = words !== undefined && words.length <= NAME_WORDS_MAX;
    return few ? { any: words.map(terms.inName), negated: false } : undefined;
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

const hasRarerSide = (attribute: Predicate['attribute']): attribute is SidedAttribute =>
  attribute in RARER_SIDES;

/** Takes a comparison of created_at into the span; false where it is none that a span can say. */
function narrow(conditions: Conditions, { negated, test }: Predicate): boolean {
  if (negated || test.kind !== 'compare') return false;
  const { comparison, value } = test;
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
