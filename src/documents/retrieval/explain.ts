// Why a passage was found: the words of the question that it has, and where they stand.

import { inSlices } from '../../core/time-slices.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { EXPLAINED_STEMS_MAX } from './limits.ts';
import { meaningful } from './question.ts';
import { firstWordsOf, hasStem, type Span, spansOf, wordsOf } from './segmentation.ts';
import type { ReadStatistics } from './statistics.ts';
import type { Stemmer, Stems } from './stems.ts';

/** `start` and `end` count code points of the passage's text; the end is excluded. */
export type Match = { start: number; end: number };

export type Explanation = {
  /** Words of the question, in lower case, that the passage or a heading above it has in any of their forms. */
  words: string[];
  /** Where they stand in the passage, in order. */
  matches: Match[];
};

/** Rejects with the signal's reason when it aborts. */
export type Explain = (
  viewer: Viewer,
  query: string,
  passages: readonly { text: string; heading: string | null }[],
  signal?: AbortSignal,
) => Promise<Explanation[]>;

/** Words of the question that share a form with a word of a text. */
type AskedFor = (word: string) => readonly string[];

type Passages = Parameters<Explain>[2];
type Divided = { spans: Span[]; headingWords: string[] };

/** Long passages take a second in all: they are divided and compared in slices of time. */
export function createExplain(deps: {
  sql: Transaction;
  stemmer: Stemmer;
  readStatistics: ReadStatistics;
}): Explain {
  const { sql, stemmer, readStatistics } = deps;
  return async (viewer, query, passages, signal) => {
    const asked = await firstWordsOf(query);
    const { languages } = await readStatistics(viewer);
    const wordsMax = Math.ceil(EXPLAINED_STEMS_MAX / Math.max(1, languages.length));
    const { divided, words } = await inSlices(divide(passages, wordsMax), signal);
    const stemmed = await stemmer.stem(sql, languages, asked);
    const stems = await stemmer.stem(sql, languages, words);
    const byForm = new Map<string, Set<string>>();
    for (const word of meaningful(asked, stemmed))
      for (const form of formsOf(word, stemmed)) byForm.set(form, (byForm.get(form) ?? new Set()).add(word));
    const known = await inSlices(compare(words, stems, byForm), signal);
    // Words that were not looked up are compared as they are written.
    return inSlices(
      match(divided, (word) => known.get(word) ?? [...(byForm.get(word) ?? [])]),
      signal,
    );
  };
}

/** The passages in their words, and the first `wordsMax` different ones that may have stems. */
function* divide(
  passages: Passages,
  wordsMax: number,
): Generator<void, { divided: Divided[]; words: Set<string> }> {
  const words = new Set<string>();
  const note = (some: readonly string[]): void => {
    for (const word of some) if (words.size < wordsMax && hasStem(word)) words.add(word);
  };
  const divided: Divided[] = [];
  for (const { text, heading } of passages) {
    const headingWords = heading === null ? [] : wordsOf(heading);
    note(headingWords);
    const spans: Span[] = [];
    for (const span of spansOf(text)) {
      spans.push(span);
      note(span.words);
      yield;
    }
    divided.push({ spans, headingWords });
  }
  return { divided, words };
}

/** Of each word those of the question that share a form with it. */
function* compare(
  words: ReadonlySet<string>,
  stems: readonly Stems[],
  byForm: ReadonlyMap<string, ReadonlySet<string>>,
): Generator<void, Map<string, readonly string[]>> {
  const known = new Map<string, readonly string[]>();
  for (const word of words) {
    const found = new Set(formsOf(word, stems).flatMap((form) => [...(byForm.get(form) ?? [])]));
    known.set(word, [...found]);
    yield;
  }
  return known;
}

function* match(divided: readonly Divided[], askedFor: AskedFor): Generator<void, Explanation[]> {
  const explained: Explanation[] = [];
  for (const { spans, headingWords } of divided) {
    const found = new Set(headingWords.flatMap(askedFor));
    const matches: Match[] = [];
    for (const span of spans) {
      const matched = span.words.flatMap(askedFor);
      for (const word of matched) found.add(word);
      if (matched.length > 0) addMatch(matches, span);
      yield;
    }
    explained.push({ words: [...found], matches });
  }
  return explained;
}

const formsOf = (word: string, stemmed: readonly Stems[]): string[] => [
  word,
  ...stemmed.map((stems) => stems(word)).filter((stem) => stem !== null),
];

function addMatch(matches: Match[], { start, end }: Span): void {
  const last = matches.at(-1);
  // Pairs of characters overlap.
  if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
  else matches.push({ start, end });
}
