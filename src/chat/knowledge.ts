// Knowledge from the records of a workspace's documents: name, summary, tags, categories and slots. Their search wants
// every word in a document, a question has many that are in none: so its words are asked one by one, and a document is
// worth the words that it has, rare ones more than common ones.

import {
  CITATIONS_MAX,
  DOCUMENTS_PER_WORD_MAX,
  QUESTION_LENGTH_MAX,
  QUESTION_WORDS_MAX,
  WORD_LENGTH_MAX,
} from './limits.ts';
import type { Citation } from './turn.ts';

/** A passage: the text is for the model, the rest for the reader. */
export type Passage = Citation & { text: string };

export type Knowledge = {
  /** A few passages, the best first; only from documents that the person may see. */
  find(question: { workspaceId: string; email: string; text: string }): Promise<Passage[]>;
};

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

/** Below it a document has little to do with the question. */
const SCORE_MIN = 0.25;
const WORD_LENGTH_MIN = 3;
const TEXT_LENGTH_MAX = 4000;

export function createDocumentKnowledge(searchDocuments: SearchDocuments): Knowledge {
  return {
    async find({ workspaceId, email, text }) {
      const words = wordsOf(text);
      const found = await Promise.all(
        words.map((word) => searchDocuments({ workspaceId, email }, word, DOCUMENTS_PER_WORD_MAX)),
      );
      const weights = found.map(({ total }) => (total === 0 ? 0 : 1 / Math.log(Math.E + total)));
      const all = weights.reduce((sum, weight) => sum + weight, 0);
      const scored = new Map<string, { document: FoundDocument; score: number }>();
      for (const [index, { documents }] of found.entries()) {
        for (const document of documents) {
          const score = (scored.get(document.id)?.score ?? 0) + (weights[index] ?? 0) / all;
          scored.set(document.id, { document, score });
        }
      }
      return [...scored.values()]
        .filter(({ score }) => score >= SCORE_MIN)
        .sort((one, other) => other.score - one.score)
        .slice(0, CITATIONS_MAX)
        .map(({ document, score }) => toPassage(document, score));
    },
  };
}

/** The longest words of a question: they say the most. No document has longer ones that could be looked up. */
const wordsOf = (text: string): string[] =>
  [
    ...new Set(
      endsOf(text)
        .toLowerCase()
        .match(/[\p{L}\p{N}\p{M}]+/gu) ?? [],
    ),
  ]
    .filter((word) => word.length >= WORD_LENGTH_MIN && word.length <= WORD_LENGTH_MAX)
    .sort((one, other) => other.length - one.length)
    .slice(0, QUESTION_WORDS_MAX);

/** A question that goes with a long text stands before it or behind it. */
const endsOf = (text: string): string =>
  text.length <= QUESTION_LENGTH_MAX
    ? text
    : `${text.slice(0, QUESTION_LENGTH_MAX / 2)} ${text.slice(-QUESTION_LENGTH_MAX / 2)}`;

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
    score: Math.round(score * 1000) / 1000,
    text: lines.join('\n').slice(0, TEXT_LENGTH_MAX).toWellFormed(),
  };
}

const labelled = (label: string, values: readonly string[] | null): string | null =>
  values === null || values.length === 0 ? null : `${label}: ${values.join(', ')}`;
