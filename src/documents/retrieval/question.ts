// A question → the terms that passages are ranked by.

import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createLexemes } from './lexemes.ts';
import { QUERY_WORDS_MAX, RARE_SHARE, TERMS_MAX } from './limits.ts';
import { firstWordsOf, wordsOf } from './segmentation.ts';
import type { ReadStatistics, Statistics } from './statistics.ts';
import type { Stemmer, Stems } from './stems.ts';
import { looksVietnamese, pairsOf, VIETNAMESE } from './syllables.ts';

/** A word with all forms that it may have in the index: its stems in the languages of the workspace. */
export type Term = {
  lexemes: string[];
  /** The factor of its part in a passage's rank, beside its rarity. */
  weight: number;
  /** About the share of the passages that have it; undefined for a rare one, which is counted where it is looked for. */
  share: number | undefined;
  /** How many of the passages that the caller sees have it, once that is known: its rarity, in place of the share. */
  seen?: number;
  /** Of a word as it is written, and of a pair: the lexemes of its stem, or of its first word. It adds to that, and finds nothing by itself. */
  stem: string | undefined;
};

export type Question = {
  workspaceId: string;
  terms: Term[];
  /** Of the whole workspace: they decide how passages are looked for. */
  statistics: Statistics;
  /** Of the passages that the caller sees: scores are made of these. */
  seen: Pick<Statistics, 'passages' | 'averageLength'>;
};

/** A word as it is written counts less than its stem: the passage that has it has the stem, too. */
const WRITTEN_WEIGHT = 0.3;
/** Of two neighbouring syllables of Vietnamese, beside those two; chosen on a collection (bench/RESULTS.md). */
const PAIR_WEIGHT = 0.5;

export function createUnderstand(deps: {
  sql: Transaction;
  stemmer: Stemmer;
  readStatistics: ReadStatistics;
}) {
  const { sql, stemmer, readStatistics } = deps;
  return async (viewer: Viewer, query: string): Promise<Question> => {
    const { workspaceId } = viewer;
    const words = await firstWordsOf(query);
    const statistics = await readStatistics(viewer);
    const stemmed = await stemmer.stem(sql, statistics.languages, words);
    const asked = meaningful(words, stemmed);
    const terms = asked.flatMap((word) => termsOf(workspaceId, word, stemmed, statistics));
    const paired = statistics.languages.includes(VIETNAMESE) && looksVietnamese(query);
    const pairs = paired
      ? pairTermsOf(workspaceId, { divided: wordsOf(query), asked, stemmed, statistics })
      : [];
    return { workspaceId, terms: distinct([...terms, ...pairs]), statistics, seen: statistics };
  };
}

/**
 * The words without those that carry no meaning in the language of the question. That is, of the languages of the workspace, the
 * one that has most of the words among those: a question is too short to be recognised otherwise.
 */
export function meaningful(words: readonly string[], stemmed: readonly Stems[]): readonly string[] {
  const counts = stemmed.map((stems) => words.filter((word) => stems(word) === null).length);
  const most = Math.max(0, ...counts);
  if (most === 0) return words;
  const likely = stemmed.filter((_, index) => counts[index] === most);
  const kept = words.filter((word) => likely.every((stems) => stems(word) !== null));
  return kept.length === 0 ? words : kept;
}

function termsOf(
  workspaceId: string,
  word: string,
  stemmed: readonly Stems[],
  { common }: Statistics,
): Term[] {
  const { stem, written } = createLexemes(workspaceId);
  const stems = new Set([word, ...stemmed.map((stems) => stems(word)).filter((each) => each !== null)]);
  const toTerm = (lexemes: string[], rest: Pick<Term, 'weight' | 'stem'>): Term => {
    const shares = lexemes.map((lexeme) => common.get(lexeme)).filter((share) => share !== undefined);
    const share =
      shares.length === 0
        ? undefined
        : Math.min(
            1,
            shares.reduce((sum, each) => sum + each, 0),
          );
    return { lexemes, share, ...rest };
  };
  const main = toTerm([...stems].map(stem), { weight: 1, stem: undefined });
  if (stems.size === 1) return [main];
  const own = toTerm([written(word)], { weight: WRITTEN_WEIGHT, stem: keyOf(main) });
  // Passages that have it are all looked at only where its stem is rare, too.
  return [main, main.share === undefined ? own : { ...own, share: own.share ?? RARE_SHARE }];
}

/** Of the words that are asked for, each with the one after it. */
function pairTermsOf(
  workspaceId: string,
  question: {
    divided: readonly string[];
    asked: readonly string[];
    stemmed: readonly Stems[];
    statistics: Statistics;
  },
): Term[] {
  const { divided, asked, stemmed, statistics } = question;
  const { written } = createLexemes(workspaceId);
  const known = new Set(asked);
  return pairsOf(divided.slice(0, QUERY_WORDS_MAX)).flatMap(([first, pair]) => {
    const [main] = known.has(first) ? termsOf(workspaceId, first, stemmed, statistics) : [];
    if (main === undefined) return [];
    const lexeme = written(pair);
    const share = statistics.common.get(lexeme) ?? (main.share === undefined ? undefined : RARE_SHARE);
    return [{ lexemes: [lexeme], weight: PAIR_WEIGHT, share, stem: keyOf(main) }];
  });
}

export const keyOf = ({ lexemes }: Pick<Term, 'lexemes'>): string => lexemes.join();

/** Each once, and the rarest of too many. */
function distinct(terms: readonly Term[]): Term[] {
  const byLexemes = new Map(terms.map((term) => [keyOf(term), term]));
  return [...byLexemes.values()].sort(byRarity).slice(0, TERMS_MAX);
}

export const byRarity = (left: Term, right: Term): number => (left.share ?? 0) - (right.share ?? 0);
