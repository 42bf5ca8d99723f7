// Why a passage was found: the words of the question that it has, and where they stand.

import { createSemaphore } from '../../core/semaphore.ts';
import { nextTimeSlice } from '../../core/time-slices.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createTurns } from '../search/slow-searches.ts';
import { EXPLAINED_STEMS_MAX, EXPLAINING } from './limits.ts';
import { formsOf, readQuestion } from './question.ts';
import { hasStem, isUnspaced, type Span, spansOf, wordsOf } from './segmentation.ts';
import type { Stemmer } from './stems.ts';

export type Explanation = {
  /** Words of the question, in lower case, that the passage or a heading above it has in any of their forms. */
  words: string[];
  /** Where they stand in the passage, in order. Code points of its text; the end is excluded. */
  matches: { start: number; end: number }[];
};

export type Explainer = ReturnType<typeof createExplainer>;

export function createExplainer({ sql, stemmer }: { sql: Transaction; stemmer: Stemmer }) {
  /** Explains the passages one after the other, each in a time slice. Rejects with the signal's reason when it aborts. */
  async function explain(
    viewer: Viewer,
    query: string,
    passages: readonly { text: string; heading: string | null }[],
    signal?: AbortSignal,
  ): Promise<Explanation[]> {
    const { words, languages, stemmed } = await readQuestion(sql, stemmer, viewer, query);
    const byForm = new Map<string, Set<string>>();
    for (const word of words)
      for (const form of formsOf(word, stemmed)) byForm.getOrInsertComputed(form, () => new Set()).add(word);
    let stemsLeft = EXPLAINED_STEMS_MAX;
    const explained: Explanation[] = [];
    for (const { text, heading } of passages) {
      await nextTimeSlice();
      signal?.throwIfAborted();
      const spans = [...spansOf(text)];
      const above = heading === null ? [] : wordsOf(heading);
      // Words beyond the bound are compared as they are written.
      const looked = new Set([...above, ...spans.flatMap((span) => span.words)].filter(hasStem));
      const known = [...looked].slice(0, Math.floor(stemsLeft / Math.max(1, languages.length)));
      stemsLeft -= known.length * languages.length;
      const stems = await stemmer.stem(sql, languages, known);
      const askedFor = (word: string): string[] =>
        formsOf(word, stems).flatMap((form) => [...(byForm.get(form) ?? [])]);
      const found = new Set(above.flatMap(askedFor));
      const matches: Explanation['matches'] = [];
      for (const span of spans) {
        const asked = span.words.flatMap(askedFor);
        for (const word of asked) found.add(word);
        if (asked.length > 0) addMatch(matches, span);
      }
      explained.push({ words: [...found], matches });
    }
    return explained;
  }
  return {
    explain,
    /**
     * Runs the work of an answer with explanations: that of long passages has a megabyte of places and words, so the service makes two at
     * a time, and one of a workspace. Throws 503 where too many wait.
     */
    inTurn: createTurns(createSemaphore(EXPLAINING), { ...EXPLAINING, runningMax: 1 }),
  };
}

function addMatch(matches: Explanation['matches'], { start, end, words }: Span): void {
  const last = matches.at(-1);
  // Pairs of characters overlap. Where no blanks are written, it is a guess where one word ends and the next begins.
  const touches = start === last?.end && isUnspaced(words[0] ?? '');
  if (last !== undefined && (start < last.end || touches)) last.end = Math.max(last.end, end);
  else matches.push({ start, end });
}
