// Knowledge from the records of a workspace's documents: name, summary, tags, categories and slots. Their search wants
// every word in a document, a question has many that are in none: so its words are asked one by one, and a document is
// worth the words that it has, rare ones more than common ones.

import {
  DOCUMENTS_PER_WORD_MAX,
  QUESTION_LENGTH_MAX,
  QUESTION_WORDS_MAX,
  RECORDS_MAX,
  WORD_LENGTH_MAX,
} from './limits.ts';
import type { Inquiry, Passage } from './turn.ts';

/** A document's record, as far as a model reads it. */
export type FoundDocument = {
  id: string;
  name: string;
  summary: string | null;
  tags: readonly string[] | null;
  categories: readonly string[] | null;
  slots: Record<string, unknown> | null;
};

/** Documents that the person may see and that have every word of the text, the best first; and how many there are. */
export type SearchDocuments = (
  person: { workspaceId: string; email: string },
  text: string,
  limit: number,
) => Promise<{ documents: FoundDocument[]; total: number }>;

/** A record with the words that it was found by. */
export type FoundRecord = { passage: Passage; words: readonly string[] };

/** Below it a document has little to do with the question. */
const SCORE_MIN = 0.25;
/** Of a word of an earlier question, beside 1 of the question's own. */
const EARLIER_WEIGHT = 0.5;
const WORD_LENGTH_MIN = 3;
const TEXT_LENGTH_MAX = 4000;

export function createRecordSearch(searchDocuments: SearchDocuments) {
  return async ({ workspaceId, email, question, earlier }: Inquiry): Promise<FoundRecord[]> => {
    const words = searchedWords(question, earlier);
    const found = await Promise.all(
      words.map(({ word }) => searchDocuments({ workspaceId, email }, word, DOCUMENTS_PER_WORD_MAX)),
    );
    const weights = found.map(({ total }, index) =>
      total === 0 ? 0 : (words[index]?.weight ?? 0) / Math.log(Math.E + total),
    );
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    const scored = new Map<string, { document: FoundDocument; score: number; words: string[] }>();
    for (const [index, { documents }] of found.entries()) {
      for (const document of documents) {
        const known = scored.get(document.id);
        scored.set(document.id, {
          document,
          score: (known?.score ?? 0) + (weights[index] ?? 0) / all,
          words: [...(known?.words ?? []), words[index]?.word ?? ''],
        });
      }
    }
    return [...scored.values()]
      .filter(({ score }) => score >= SCORE_MIN)
      .sort((one, other) => other.score - one.score)
      .slice(0, RECORDS_MAX)
      .map(({ document, score, words }) => ({ passage: toPassage(document, score), words }));
  };
}

/** The words of the question, and, where it has few, as in "and in winter?", those of the questions before it. */
function searchedWords(question: string, earlier: readonly string[]): { word: string; weight: number }[] {
  const own = wordsOf(question);
  const before = wordsOf(earlier.join('\n')).filter((word) => !own.includes(word));
  return [
    ...own.map((word) => ({ word, weight: 1 })),
    ...before.map((word) => ({ word, weight: EARLIER_WEIGHT })),
  ].slice(0, QUESTION_WORDS_MAX);
}

/** The longest words of a text: they say the most. No document has longer ones that could be looked up. */
const wordsOf = (text: string): string[] =>
  [
    ...new Set(
      endsOf(text, QUESTION_LENGTH_MAX)
        .toLowerCase()
        .match(/[\p{L}\p{N}\p{M}]+/gu) ?? [],
    ),
  ]
    .filter((word) => word.length >= WORD_LENGTH_MIN && word.length <= WORD_LENGTH_MAX)
    .sort((one, other) => other.length - one.length)
    .slice(0, QUESTION_WORDS_MAX);

function toPassage(document: FoundDocument, score: number): Passage {
  const { id, name, summary, tags, categories, slots } = document;
  const lines = [
    summary,
    labelled('Tags', tags),
    labelled('Categories', categories),
    slots === null || Object.keys(slots).length === 0 ? null : JSON.stringify(slots),
  ].filter((line) => line !== null && line !== '');
  return {
    document_id: id,
    name,
    page: null,
    heading: null,
    score: Math.round(score * 1000) / 1000,
    text: lines.join('\n').slice(0, TEXT_LENGTH_MAX).toWellFormed(),
  };
}

const labelled = (label: string, values: readonly string[] | null): string | null =>
  values === null || values.length === 0 ? null : `${label}: ${values.join(', ')}`;

/** The beginning and the end: a question that goes with a long text stands before it or behind it. */
export const endsOf = (text: string, lengthMax: number): string =>
  text.length <= lengthMax
    ? text
    : `${text.slice(0, lengthMax / 2)} ${text.slice(-lengthMax / 2)}`.toWellFormed();
