// Why a passage was found: the words of the question that it has, and where they stand.

import type { Transaction } from '../../infra/postgres/client.ts';
import { QUERY_WORDS_MAX } from './limits.ts';
import { meaningful } from './question.ts';
import { spansOf, wordsOf } from './segmentation.ts';
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

export type Explain = (
  workspaceId: string,
  query: string,
  passages: readonly { text: string; heading: string | null }[],
) => Promise<Explanation[]>;

export function createExplain(deps: {
  sql: Transaction;
  stemmer: Stemmer;
  readStatistics: ReadStatistics;
}): Explain {
  const { sql, stemmer, readStatistics } = deps;
  return async (workspaceId, query, passages) => {
    const asked = [...new Set(wordsOf(query))].slice(0, QUERY_WORDS_MAX);
    const divided = passages.map(({ text, heading }) => ({
      spans: spansOf(text),
      headingWords: heading === null ? [] : wordsOf(heading),
    }));
    const known = new Set(asked);
    for (const { spans, headingWords } of divided) {
      for (const word of headingWords) known.add(word);
      for (const { words } of spans) for (const word of words) known.add(word);
    }
    const { languages } = await readStatistics(workspaceId);
    const stemmed = await stemmer.stem(sql, languages, known);
    const askedFor = findAsked(meaningful(asked, stemmed), stemmed);
    return divided.map(({ spans, headingWords }) => {
      const found = new Set(headingWords.flatMap(askedFor));
      const matches: Match[] = [];
      for (const { start, end, words } of spans) {
        const matched = words.flatMap(askedFor);
        if (matched.length === 0) continue;
        for (const word of matched) found.add(word);
        const last = matches.at(-1);
        // Pairs of characters overlap.
        if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
        else matches.push({ start, end });
      }
      return { words: [...found], matches };
    });
  };
}

/** Those words of the question that share a form with a word of a text, by the stems of any language of the workspace. */
function findAsked(asked: readonly string[], stemmed: readonly Stems[]): (word: string) => readonly string[] {
  const formsOf = (word: string): string[] => [
    word,
    ...stemmed.map((stems) => stems(word)).filter((stem) => stem !== null),
  ];
  const byForm = new Map<string, Set<string>>();
  for (const word of asked)
    for (const form of formsOf(word)) byForm.set(form, (byForm.get(form) ?? new Set()).add(word));
  const known = new Map<string, readonly string[]>();
  return (word) => {
    let found = known.get(word);
    if (found === undefined) {
      found = [...new Set(formsOf(word).flatMap((form) => [...(byForm.get(form) ?? [])]))];
      known.set(word, found);
    }
    return found;
  };
}
