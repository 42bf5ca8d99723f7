// What search knows of a document: its record, normalised and digested. Made here for every engine, so that all of
// them compare the same text.

import { isRawNumber } from '../../core/json.ts';
import { inSlices } from '../../core/time-slices.ts';
import type { Document } from '../document.ts';
import {
  collectWords,
  createTerms,
  normalise,
  normaliseInSteps,
  RARER_SIDES,
  type SidedAttribute,
  type Terms,
} from './terms.ts';

/** To be raised when an entry's form changes: entries of an older form are written anew at start. */
export const ENTRY_FORM = 2;

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

/** A document of a megabyte takes up to seconds: it is made in slices of time. */
export const toSearchEntry = (document: Indexed): Promise<SearchEntry> => inSlices(entryInSteps(document));

function* entryInSteps(document: Indexed): Generator<void, SearchEntry> {
  const texts = {
    name: normalise(document.name),
    objectKey: normalise(document.objectKey),
    fileType: normaliseNullable(document.fileType),
    fileHash: normaliseNullable(document.fileHash),
    summary: document.summary === null ? null : yield* normaliseInSteps(document.summary),
    tags: document.tags === null ? null : yield* normaliseAll(document.tags),
    categories: document.categories === null ? null : yield* normaliseAll(document.categories),
    access: yield* leavesOf(document.access),
    slots: yield* leavesOf(document.slots),
  };
  const { words, complete, vocabulary } = yield* collectWords(document.workspaceId, [
    ['A', [texts.name]],
    ['B', [...(texts.tags ?? []), ...(texts.categories ?? [])]],
    ['C', Object.values(texts.slots ?? {}).flat()],
    ['D', texts.summary === null ? [] : [texts.summary]],
  ]);
  const terms = yield* termsOf(document, texts);
  return { ...texts, terms, words, complete, vocabulary };
}

function* normaliseAll(texts: readonly string[]): Generator<void, string[]> {
  const normalised: string[] = [];
  for (const text of texts) {
    normalised.push(yield* normaliseInSteps(text));
    yield;
  }
  return normalised;
}

const normaliseNullable = (text: string | null): string | null => (text === null ? null : normalise(text));

type Texts = Omit<SearchEntry, 'terms' | 'words' | 'complete' | 'vocabulary'>;

function* termsOf(document: Indexed, texts: Texts): Generator<void, string[]> {
  const terms: Terms = createTerms(document.workspaceId);
  const found = new Set([terms.owner(document.ownerId), ...document.curators.map(terms.curator)]);
  for (const attribute of ['tags', 'categories'] as const) {
    for (const label of new Set(texts[attribute] ?? [])) {
      found.add(terms.label(attribute, label));
      yield;
    }
  }
  if (texts.fileType !== null) found.add(terms.label('file_type', texts.fileType));
  if (texts.fileHash !== null) found.add(terms.label('file_hash', texts.fileHash));
  for (const attribute of ['access', 'slots'] as const) {
    for (const [key, leaves] of Object.entries(texts[attribute] ?? {})) {
      for (const leaf of new Set([leaves].flat())) {
        found.add(terms.leaf(attribute, key, leaf));
        yield;
      }
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
function* leavesOf(dictionary: Record<string, unknown> | null): Generator<void, Leaves | null> {
  const entries = Object.entries(dictionary ?? {});
  if (entries.length === 0) return null;
  const found: [key: string, leaves: readonly string[] | ''][] = [];
  for (const [key, value] of entries) {
    if (value === null || (typeof value === 'object' && !isRawNumber(value) && isHollow(value))) continue;
    const leaves: string[] = [];
    yield* addLeaves(leaves, value);
    found.push([key, typeof value === 'string' && leaves[0] === '' ? '' : leaves]);
  }
  return Object.fromEntries(found);
}

const isHollow = (value: object): boolean => Object.keys(value).length === 0;

/** Adds the texts of all leaves below a value; null has none. */
function* addLeaves(leaves: string[], value: unknown): Generator<void> {
  yield;
  if (typeof value === 'string') leaves.push(yield* normaliseInSteps(value));
  else if (typeof value === 'number' || typeof value === 'boolean' || isRawNumber(value))
    leaves.push(JSON.stringify(value));
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) yield* addLeaves(leaves, inner);
}
