// A search as conditions that both engines evaluate alike: who may see what, terms that documents have, and the predicates
// that neither says.

import type { Document } from '../document.ts';
import type { Predicate } from '../filter/ast.ts';
import { statusWordsUnder } from '../filter/status.ts';
import type { ArchivedChoice, SearchQuery } from './query.ts';
import { createTerms, RARER_SIDES, type SidedAttribute, type Terms } from './terms.ts';

export type Conditions = ReturnType<typeof toConditions>;

/** Status predicates are left out of `rest`: the classes of `visible` say what they allow. */
export function toConditions(query: SearchQuery) {
  const terms = createTerms(query.viewer.workspaceId);
  /** Of each group at least one term. */
  const required: string[][] = [];
  const excluded: string[] = [];
  /** Everything else, all of which must hold. */
  const rest: Predicate[] = [];
  for (const predicate of query.predicates) {
    if (predicate.attribute === 'status') continue;
    const found = termsOf(terms, predicate);
    if (found === undefined) rest.push(predicate);
    else if (found.negated === predicate.negated) required.push(found.any);
    else excluded.push(...found.any);
  }
  return { visible: toVisible(query, terms), required, excluded, rest };
}

const CLASSES = { public: 0, private: 1, deleted: 2 } as const;
/** Added to the class of archived documents. */
const ARCHIVED = 3;
const SHIFTS: Record<ArchivedChoice, readonly number[]> = {
  without: [0],
  only: [ARCHIVED],
  any: [0, ARCHIVED],
};

/** The class of a document: its status and whether it is archived, as `document_class` in the database. */
export const classOf = ({ status, archivedAt }: Pick<Document, 'status' | 'archivedAt'>): number =>
  CLASSES[status] + (archivedAt === null ? 0 : ARCHIVED);

export type Visible = ReturnType<typeof toVisible>;

/**
 * What the viewer may find. Admins find everything of their workspace; others what is public, their own, and what they
 * curate. Binned documents appear only where the status is asked for by their word, one's own or (admins) all.
 */
function toVisible({ viewer, predicates, archived }: SearchQuery, terms: Terms) {
  const words = statusWordsUnder(predicates);
  const classesOf = (all: typeof words) =>
    SHIFTS[archived].flatMap((shift) => all.map((word) => CLASSES[word] + shift));
  const isWhole = (word: (typeof words)[number]) => viewer.admin || word === 'public';
  const limited = words.filter((word) => !isWhole(word));
  return {
    /** Classes of which the viewer sees every document. */
    whole: classesOf(words.filter(isWhole)),
    /** Classes of which they see their own documents, which have the term `owner`. */
    own: classesOf(limited),
    /** Classes of which they see documents that they curate, which have the term `curator`. */
    curated: classesOf(limited.filter((word) => word !== 'deleted')),
    ownerId: viewer.userId,
    owner: terms.owner(viewer.userId),
    curator: terms.curator(viewer.email),
  };
}

/** The terms that a predicate asks for, or (negated) must find absent; undefined where terms do not decide it. */
function termsOf(terms: Terms, predicate: Predicate): { any: string[]; negated: boolean } | undefined {
  if (predicate.test.kind === 'empty') {
    const { attribute } = predicate;
    if (!hasRarerSide(attribute) || ('key' in predicate && predicate.key !== undefined)) return undefined;
    return { any: [terms.side(attribute)], negated: RARER_SIDES[attribute] === 'filled' };
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
