// Passages for a question in a conversation. "And in winter?" says too little by itself, and a change of the subject has
// nothing to do with what was said before: so the question is searched for both alone and together with the questions
// before it, and each search has every second place of the result.

import type { Payer } from '../../core/embed-texts.ts';
import { CONTEXT_LENGTH_MAX, PASSAGES_MAX, QUERY_LENGTH_MAX } from '../limits.ts';
import type { Inquiry, Passage } from './passage.ts';

/** A passage as the retrieval of the documents gives it; its place in the document identifies it there. */
export type FoundPassage = {
  documentId: string;
  passage: number;
  name: string;
  page: number | null;
  heading: string | null;
  text: string;
  score: number;
};

/** Passages that the person may see now, the best first. */
export type RetrievePassages = (
  person: { workspaceId: string; email: string },
  request: { query: string; limit: number; payer?: Payer | undefined },
  signal: AbortSignal,
) => Promise<{ passages: readonly FoundPassage[] }>;

export function createPassageSearch(retrieve: RetrievePassages) {
  return async (
    { workspaceId, email, question, earlier, payer }: Inquiry,
    signal: AbortSignal,
  ): Promise<Passage[]> => {
    const found = await Promise.all(
      queriesOf(question, earlier).map((query) =>
        retrieve({ workspaceId, email }, { query, limit: PASSAGES_MAX, payer }, signal),
      ),
    );
    return alternating(found.map(({ passages }) => passages))
      .slice(0, PASSAGES_MAX)
      .map(toPassage);
  };
}

function queriesOf(question: string, earlier: readonly string[]): string[] {
  const alone = endsOf(question, QUERY_LENGTH_MAX);
  if (alone.trim() === '') return [];
  const context = endsOf(earlier.join('\n'), CONTEXT_LENGTH_MAX);
  return context.trim() === '' ? [alone] : [`${context}\n${alone}`, alone];
}

/** The beginning and the end: a question that goes with a long text stands before it or behind it. */
export const endsOf = (text: string, lengthMax: number): string =>
  text.length <= lengthMax
    ? text
    : `${text.slice(0, lengthMax / 2)} ${text.slice(-lengthMax / 2)}`.toWellFormed();

/** The first of each list, then the second of each, and so on; a passage that is in both once, with its better score. */
function alternating(lists: readonly (readonly FoundPassage[])[]): FoundPassage[] {
  const found = new Map<string, FoundPassage>();
  for (let rank = 0; rank < PASSAGES_MAX; rank++) {
    for (const list of lists) {
      const passage = list[rank];
      if (passage === undefined) continue;
      const key = `${passage.documentId} ${passage.passage}`;
      const known = found.get(key);
      if (known === undefined || known.score < passage.score) found.set(key, passage);
    }
  }
  return [...found.values()];
}

const toPassage = ({ documentId, name, page, heading, text, score }: FoundPassage): Passage => ({
  document_id: documentId,
  name,
  page,
  heading,
  score: Math.round(score * 1000) / 1000,
  text: text.toWellFormed(),
});
