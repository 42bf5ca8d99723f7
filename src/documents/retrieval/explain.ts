// Why a passage was found: the words of the question that it has, and where they stand.

import { createSemaphore } from '../../core/semaphore.ts';
import { inSlices, nextTimeSlice } from '../../core/time-slices.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createTurns } from '../search/slow-searches.ts';
import { EXPLAINED_AT_ONCE, EXPLAINED_STEMS_MAX, EXPLAINING } from './limits.ts';
import { meaningful } from './question.ts';
import { firstWordsOf, hasStem, isUnspaced, type Span, spansOf, wordsOf } from './segmentation.ts';
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
type AskedFor = (word: string) => Iterable<string>;

const NONE: readonly string[] = [];

/** Words after which it is looked whether the slice of time is over. */
const STEPS = 32;

type Passage = Parameters<Explain>[2][number];
type Divided = { spans: Span[]; headingWords: string[] };

/**
 * Long passages take a part of a second in all: a workspace has one explanation made at a time, in slices of time, and of the
 * passages' words a group is held at once.
 */
export function createExplain(deps: {
  sql: Transaction;
  stemmer: Stemmer;
  readStatistics: ReadStatistics;
}): Explain {
  const { sql, stemmer, readStatistics } = deps;
  const inTurn = createTurns(createSemaphore(EXPLAINING), { ...EXPLAINING, runningMax: 1 });

  const explain: Explain = async (viewer, query, passages, signal) => {
    signal?.throwIfAborted();
    const asked = await firstWordsOf(query);
    const { languages } = await readStatistics(viewer);
    const stemmed = await stemmer.stem(sql, languages, asked);
    const byForm = new Map<string, Set<string>>();
    for (const word of meaningful(asked, stemmed))
      for (const form of formsOf(word, stemmed)) byForm.set(form, (byForm.get(form) ?? new Set()).add(word));
    // Words that are not looked up are compared as they are written.
    const known = new Map<string, readonly string[]>();
    const askedFor: AskedFor = (word) => known.get(word) ?? byForm.get(word) ?? NONE;
    const knownMax = Math.ceil(EXPLAINED_STEMS_MAX / Math.max(1, languages.length));
    const explained: Explanation[] = [];
    while (explained.length < passages.length) {
      // Each step of a group may end within its slice: without a wait, many groups would be one piece of work for the event loop.
      await nextTimeSlice();
      signal?.throwIfAborted();
      const divided = await inSlices(divide(passages, explained.length), signal);
      const words = await inSlices(unknownOf(divided, known, knownMax), signal);
      const stems = await stemmer.stem(sql, languages, words);
      await inSlices(compare(words, { stems, byForm, known }), signal);
      explained.push(...(await inSlices(match(divided, askedFor), signal)));
    }
    return explained;
  };
  return (viewer, ...rest) => inTurn(viewer.workspaceId, () => explain(viewer, ...rest));
}

/** The passages from that one on in their words, until there are enough words for a group. */
function* divide(passages: readonly Passage[], from: number): Generator<void, Divided[]> {
  const divided: Divided[] = [];
  let count = 0;
  for (let at = from; at < passages.length && count < EXPLAINED_AT_ONCE; at++) {
    const { text = '', heading = null } = passages[at] ?? {};
    const spans: Span[] = [];
    for (const span of spansOf(text)) {
      spans.push(span);
      if (++count % STEPS === 0) yield;
    }
    divided.push({ spans, headingWords: heading === null ? [] : wordsOf(heading) });
  }
  return divided;
}

/** The different words that may have stems and are not known yet, at most so many that `knownMax` are known then. */
function* unknownOf(
  divided: readonly Divided[],
  known: ReadonlyMap<string, unknown>,
  knownMax: number,
): Generator<void, Set<string>> {
  const words = new Set<string>();
  const note = (word: string): void => {
    if (known.size + words.size < knownMax && !known.has(word) && hasStem(word)) words.add(word);
  };
  for (const { spans, headingWords } of divided) {
    headingWords.forEach(note);
    for (const [at, span] of spans.entries()) {
      span.words.forEach(note);
      if (at % STEPS === 0) yield;
    }
  }
  return words;
}

/** Of each word those of the question that share a form with it. */
function* compare(
  words: ReadonlySet<string>,
  {
    stems,
    byForm,
    known,
  }: {
    stems: readonly Stems[];
    byForm: ReadonlyMap<string, ReadonlySet<string>>;
    known: Map<string, readonly string[]>;
  },
): Generator<void, void> {
  for (const word of words) {
    const found = new Set(formsOf(word, stems).flatMap((form) => [...(byForm.get(form) ?? NONE)]));
    known.set(word, found.size === 0 ? NONE : [...found]);
    if (known.size % STEPS === 0) yield;
  }
}

function* match(divided: readonly Divided[], askedFor: AskedFor): Generator<void, Explanation[]> {
  const explained: Explanation[] = [];
  for (const { spans, headingWords } of divided) {
    const found = new Set<string>();
    for (const word of headingWords) for (const each of askedFor(word)) found.add(each);
    const matches: Match[] = [];
    for (const [at, span] of spans.entries()) {
      let isMatch = false;
      for (const word of span.words)
        for (const each of askedFor(word)) {
          found.add(each);
          isMatch = true;
        }
      if (isMatch) addMatch(matches, span);
      if (at % STEPS === 0) yield;
    }
    explained.push({ words: [...found], matches });
  }
  return explained;
}

const formsOf = (word: string, stemmed: readonly Stems[]): string[] => [
  word,
  ...stemmed.map((stems) => stems(word)).filter((stem) => stem !== null),
];

function addMatch(matches: Match[], { start, end, words }: Span): void {
  const last = matches.at(-1);
  // Pairs of characters overlap. Where no blanks are written, it is a guess where one word ends and the next begins.
  const touches = start === last?.end && isUnspaced(words[0] ?? '');
  if (last !== undefined && (start < last.end || touches)) last.end = Math.max(last.end, end);
  else matches.push({ start, end });
}
