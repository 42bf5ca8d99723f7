// A question → the words that it asks for, and the terms that passages are ranked by.

import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';
import { createLexemes } from './lexemes.ts';
import { LANGUAGE_DOCUMENTS_MAX, TERMS_MAX } from './limits.ts';
import { firstWordsOf, looksVietnamese, pairsOf, VIETNAMESE, wordsOf } from './segmentation.ts';
import { STEMMED_LANGUAGES, type Stemmer, type Stems } from './stems.ts';

/** A word with all forms that it may have in the index: its stems in the languages of the workspace. */
export type Term = {
  lexemes: string[];
  /** The factor of its part in a passage's rank, beside its rarity. */
  weight: number;
  /**
   * Of a word as it is written, and of a pair: the term of its stem, or of its first word. It adds to the rank of that one, and finds
   * nothing by itself.
   */
  of?: Term;
};

export type Question = Awaited<ReturnType<typeof readQuestion>>;

/** A word as it is written counts less than its stem: the passage that has it has the stem, too. */
const WRITTEN_WEIGHT = 0.3;
/** Of two neighbouring syllables of Vietnamese, beside those two; chosen on a collection (bench/RESULTS.md). */
const PAIR_WEIGHT = 0.5;

/** The words of a question that carry a meaning, with their stems in the languages of the documents that the viewer sees. */
export async function readQuestion(sql: Transaction, stemmer: Stemmer, viewer: Viewer, query: string) {
  const divided = await firstWordsOf(query);
  const languages = await readLanguages(sql, viewer);
  const stemmed = await stemmer.stem(sql, languages, divided);
  return { query, languages, stemmed, words: meaningful(divided, stemmed).slice(0, TERMS_MAX) };
}

/** The terms of a question, each once. */
export function termsOf(workspaceId: string, { query, languages, stemmed, words }: Question): Term[] {
  const { stem, written } = createLexemes(workspaceId);
  const terms = new Map<string, Term>();
  const mains = new Map<string, Term>();
  const add = (term: Term): Term => terms.getOrInsertComputed(term.lexemes.join(), () => term);
  for (const word of words) {
    const stems = formsOf(word, stemmed);
    const main = add({ lexemes: stems.map(stem), weight: 1 });
    mains.set(word, main);
    if (stems.length > 1) add({ lexemes: [written(word)], weight: WRITTEN_WEIGHT, of: main });
  }
  if (languages.includes(VIETNAMESE) && looksVietnamese(query))
    for (const [first, pair] of pairsOf(wordsOf(query)).slice(0, TERMS_MAX)) {
      const main = mains.get(first);
      if (main !== undefined) add({ lexemes: [written(pair)], weight: PAIR_WEIGHT, of: main });
    }
  return [...terms.values()];
}

/** The word and its stems in several languages, each once. */
export const formsOf = (word: string, stemmed: readonly Stems[]): string[] => [
  ...new Set([word, ...stemmed.map((stems) => stems(word)).filter((stem) => stem !== null)]),
];

/**
 * The words without those that carry no meaning in the language of the question. That is, of the languages of the workspace, the
 * one that has most of the words among those: a question is too short to be recognised otherwise.
 */
function meaningful(words: readonly string[], stemmed: readonly Stems[]): readonly string[] {
  const counts = stemmed.map((stems) => words.filter((word) => stems(word) === null).length);
  const most = Math.max(0, ...counts);
  if (most === 0) return words;
  const likely = stemmed.filter((_, index) => counts[index] === most);
  const kept = words.filter((word) => likely.every((stems) => stems(word) !== null));
  return kept.length === 0 ? words : kept;
}

/**
 * The languages of the workspace's documents whose words have stems or pairs. A language counts if the viewer sees a document of it
 * among its first ones, or if there are so many that a single one tells nothing: languages decide how words are compared, so a score
 * may not say that somebody has stored a text in one.
 */
export async function readLanguages(sql: Transaction, viewer: Viewer): Promise<string[]> {
  const documents = sql`SELECT document_id FROM document_contents c
    WHERE c.workspace_id = ${viewer.workspaceId} AND c.language = stemmed.language`;
  const seen = viewer.admin
    ? sql`true`
    : sql`(EXISTS (
        SELECT FROM (${documents} LIMIT ${LANGUAGE_DOCUMENTS_MAX}) first JOIN documents ON documents.id = first.document_id
        WHERE ${createConditions(sql).visible(viewer)})
      OR EXISTS (${documents} OFFSET ${LANGUAGE_DOCUMENTS_MAX}))`;
  const rows = await sql<{ language: string }[]>`
    SELECT language FROM unnest(${[...STEMMED_LANGUAGES, VIETNAMESE]}::text[]) AS stemmed (language)
    WHERE language = (
      -- In the order of the index: where all documents have one language, any other would be looked for in the whole table.
      SELECT c.language FROM document_contents c
      WHERE c.workspace_id = ${viewer.workspaceId} AND c.language >= stemmed.language ORDER BY c.language LIMIT 1) AND ${seen}`;
  return rows.map(({ language }) => language);
}
