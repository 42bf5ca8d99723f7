// What a search must answer, said in the plainest way: every document is looked at, one after the other. Written from
// the interface and its decisions alone; it shares nothing with the engines but the types of a query.

import type { Document } from '../../../src/documents/document.ts';
import type { Predicate, TextTest } from '../../../src/documents/filter/ast.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createRanking, weighedWords } from './text-oracle.ts';

const BUCKET = 'atrium';

/** Each text of the corpus is folded, and encoded, once: thousands of queries look at the same documents. */
function once<Value>(make: (text: string) => Value): (text: string) => Value {
  const made = new Map<string, Value>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    made.set(text, value);
    return value;
  };
}

const fold = once((text) => text.trim().normalize('NFKD').toLowerCase());
const bytesOf = once((text) => Buffer.from(text));

/** Ids of one page in order, and the total. `vocabulary` are the words that a mistyped one of `q` may mean. */
export function expectedPage(
  documents: readonly Document[],
  query: SearchQuery,
  vocabulary: readonly string[] = [],
): { ids: string[]; total: number } {
  const rank = query.text === undefined ? () => 0 : rankOf(query.text, vocabulary);
  const ranks = new Map(documents.map((document) => [document, rank(document)]));
  const found = documents
    .filter((document) => ranks.get(document) !== undefined && isFound(document, query))
    .sort((a, b) => (ranks.get(b) ?? 0) - (ranks.get(a) ?? 0) || compare(a, b, query));
  const page = found.slice(query.offset, query.offset + query.limit);
  return { ids: page.map(({ id }) => id), total: found.length };
}

const words = new WeakMap<Document, ReturnType<typeof weighedWords>>();

function rankOf(text: string, vocabulary: readonly string[]): (document: Document) => number | undefined {
  const ranking = createRanking(text, vocabulary);
  return (document) => {
    const held = words.get(document) ?? weighedWords(document);
    words.set(document, held);
    return ranking(held);
  };
}

function isFound(document: Document, { viewer, predicates, archived }: SearchQuery): boolean {
  if (document.workspaceId !== viewer.workspaceId) return false;
  if (archived !== 'any' && (document.archivedAt !== null) !== (archived === 'only')) return false;
  const own = viewer.admin || document.ownerId === viewer.userId;
  if (document.status === 'deleted') {
    const asked = predicates.some(
      (each) =>
        each.attribute === 'status' && !each.negated && each.test.kind !== 'empty' && holds(document, each),
    );
    if (!own || !asked) return false;
  }
  const visible = own || document.status === 'public' || document.curators.includes(viewer.email);
  return visible && predicates.every((each) => holds(document, each));
}

const holds = (document: Document, predicate: Predicate): boolean =>
  isTrueOf(document, predicate) !== predicate.negated;

function isTrueOf(document: Document, predicate: Predicate): boolean {
  switch (predicate.attribute) {
    case 'tags':
    case 'categories':
      return passes(
        (document[predicate.attribute] ?? []).map(fold),
        predicate.test,
        (values) => values.length === 0,
      );
    case 'slots':
    case 'access':
      return dictionaryPasses(document[predicate.attribute], predicate);
    case 'created_at':
    case 'file_size': {
      const value = predicate.attribute === 'file_size' ? document.fileSize : document.createdAt.getTime();
      if (predicate.test.kind === 'empty') return value === null;
      if (value === null) return false;
      const right = predicate.test.value;
      return {
        eq: value === right,
        gt: value > right,
        lt: value < right,
        gte: value >= right,
        lte: value <= right,
      }[predicate.test.comparison];
    }
    default: {
      const value = textOf(document, predicate.attribute);
      return passes(value === null ? [] : [fold(value)], predicate.test, ([text = '']) => text === '');
    }
  }
}

const TEXTS: Record<string, (document: Document) => string | null> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  owner_id: ({ ownerId }) => ownerId,
  storage_url: ({ objectKey }) => `s3://${BUCKET}/${objectKey}`,
  file_hash: ({ fileHash }) => fileHash,
  file_type: ({ fileType }) => fileType,
  status: ({ status }) => status,
  summary: ({ summary }) => summary,
};

const textOf = (document: Document, attribute: string): string | null => TEXTS[attribute]?.(document) ?? null;

function passes(values: string[], test: TextTest, isEmpty: (values: string[]) => boolean): boolean {
  switch (test.kind) {
    case 'empty':
      return isEmpty(values);
    case 'one-of':
      return values.some((value) => test.values.includes(value));
    case 'contains':
      return values.some((value) => value.includes(test.value));
    case 'starts-with':
      return values.some((value) => value.startsWith(test.value));
    case 'ends-with':
      return values.some((value) => value.endsWith(test.value));
  }
}

function dictionaryPasses(
  dictionary: Record<string, unknown> | null,
  { key, test }: Extract<Predicate, { attribute: 'slots' | 'access' }>,
): boolean {
  if (key === undefined) return passes(leaves(dictionary), test, () => isHollow(dictionary));
  const value = Object.hasOwn(dictionary ?? {}, key) ? dictionary?.[key] : null;
  return passes(leaves(value), test, () => isHollow(value));
}

const isHollow = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === 'string' && fold(value) === '') ||
  (typeof value === 'object' && Object.keys(value).length === 0);

function leaves(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'string') return [fold(value)];
  if (typeof value === 'object') return Object.values(value).flatMap(leaves);
  return [JSON.stringify(value)];
}

function compare(left: Document, right: Document, { order }: SearchQuery): number {
  for (const { attribute, descending } of order) {
    const [a, b] = [keyOf(left, attribute), keyOf(right, attribute)];
    if (a === null || b === null) {
      if (a !== b) return a === null ? 1 : -1;
      continue;
    }
    const difference = typeof a === 'number' ? a - Number(b) : Buffer.compare(bytesOf(a), bytesOf(String(b)));
    if (difference !== 0) return descending ? -difference : difference;
  }
  return left.id < right.id ? -1 : 1;
}

function keyOf(document: Document, attribute: string): string | number | null {
  if (attribute === 'created_at') return document.createdAt.getTime();
  if (attribute === 'file_size') return document.fileSize;
  const text = textOf(document, attribute);
  return text === null ? null : fold(text);
}
