// What search knows of a document: its record, normalised and digested. Made here for every engine, so that all of
// them compare the same text.

import { isRawNumber } from '../../core/json.ts';
import type { Document } from '../document.ts';
import {
  collectWords,
  createTerms,
  normalise,
  RARER_SIDES,
  runsIn,
  type SidedAttribute,
  type Terms,
} from './terms.ts';

/** To be raised when an entry's form changes: entries of an older form are written anew at start. */
export const ENTRY_FORM = 1;

/** Top-level key → its leaves; blank text alone is `''`, and keys whose value is empty are left out. */
export type Leaves = Record<string, readonly string[] | ''>;

export type SearchEntry = {
  name: string;
  objectKey: string;
  fileType: string | null;
  fileHash: string | null;
  summary: string | null;
  tags: readonly string[] | null;
  categories: readonly string[] | null;
  access: Leaves | null;
  slots: Leaves | null;
  terms: readonly string[];
  /** A tsvector; `complete` is false when it lacks some words, `vocabulary` holds those that people may mistype. */
  words: string;
  complete: boolean;
  vocabulary: readonly string[];
};

/** The part of a document that its entry is made of. */
export type Indexed = Omit<
  Document,
  'id' | 'uploadId' | 'createdAt' | 'fileSize' | 'status' | 'deletedAt' | 'archivedAt'
>;

export function toSearchEntry(document: Indexed): SearchEntry {
  const texts = {
    name: normalise(document.name),
    objectKey: normalise(document.objectKey),
    fileType: normaliseNullable(document.fileType),
    fileHash: normaliseNullable(document.fileHash),
    summary: normaliseNullable(document.summary),
    tags: document.tags?.map(normalise) ?? null,
    categories: document.categories?.map(normalise) ?? null,
    access: leavesOf(document.access),
    slots: leavesOf(document.slots),
  };
  const { words, complete, vocabulary } = collectWords(document.workspaceId, [
    ['A', [texts.name]],
    ['B', [...(texts.tags ?? []), ...(texts.categories ?? [])]],
    ['C', Object.values(texts.slots ?? {}).flat()],
    ['D', texts.summary === null ? [] : [texts.summary]],
  ]);
  const runs = runsIn(texts.name);
  const terms = termsOf(document, texts, runs);
  return { ...texts, terms, words, complete, vocabulary: [...new Set([...vocabulary, ...runs])] };
}

const normaliseNullable = (text: string | null): string | null => (text === null ? null : normalise(text));

type Texts = Omit<SearchEntry, 'terms' | 'words' | 'complete' | 'vocabulary'>;

function termsOf(document: Indexed, texts: Texts, runs: readonly string[]): string[] {
  const terms: Terms = createTerms(document.workspaceId);
  const found = new Set([terms.owner(document.ownerId), ...document.curators.map(terms.curator)]);
  for (const run of runs) found.add(terms.inName(run));
  for (const tag of texts.tags ?? []) found.add(terms.label('tags', tag));
  for (const category of texts.categories ?? []) found.add(terms.label('categories', category));
  if (texts.fileType !== null) found.add(terms.label('file_type', texts.fileType));
  if (texts.fileHash !== null) found.add(terms.label('file_hash', texts.fileHash));
  for (const attribute of ['access', 'slots'] as const) {
    for (const [key, leaves] of Object.entries(texts[attribute] ?? {})) {
      for (const leaf of [leaves].flat()) found.add(terms.leaf(attribute, key, leaf));
    }
  }
  const values = { ...texts, file_type: texts.fileType, file_hash: texts.fileHash };
  for (const [attribute, side] of Object.entries(RARER_SIDES) as [SidedAttribute, 'empty' | 'filled'][]) {
    const value = values[attribute];
    // A dictionary without a key is null.
    const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
    if (isEmpty === (side === 'empty')) found.add(terms.side(attribute));
  }
  return [...found];
}

/** Null for a dictionary that is null or `{}`. */
function leavesOf(dictionary: Record<string, unknown> | null): Leaves | null {
  const entries = Object.entries(dictionary ?? {});
  if (entries.length === 0) return null;
  return Object.fromEntries(
    entries.flatMap(([key, value]) => {
      if (value === null || (typeof value === 'object' && !isRawNumber(value) && isHollow(value))) return [];
      const leaves = [...textsIn(value)];
      return [[key, typeof value === 'string' && leaves[0] === '' ? '' : leaves]];
    }),
  );
}

const isHollow = (value: object): boolean => Object.keys(value).length === 0;

/** The texts of all leaves below a value; null has none. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield normalise(value);
  else if (typeof value === 'number' || typeof value === 'boolean' || isRawNumber(value))
    yield JSON.stringify(value);
  else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* textsIn(inner);
  }
}
