// What an answer may rest on: passages of texts, and records of documents, which also find documents without a text. Both
// are asked at once, within a time; one that fails or is late costs what it would have found, and nothing else.

import type { Payer } from '../core/embed-texts.ts';
import type { Logger } from '../core/logger.ts';
import { abortable, within } from '../core/wait.ts';
import { CONTEXT_LENGTH_MAX, FOUND_MAX, PASSAGES_MAX, QUERY_LENGTH_MAX } from './limits.ts';
import type { ChatCounts } from './metrics.ts';
import { createRecordSearch, endsOf, type FoundRecord, type SearchDocuments } from './records.ts';
import type { Inquiry, Passage } from './turn.ts';

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

export type Knowledge = ReturnType<typeof createKnowledge>;

export type KnowledgeDeps = {
  retrieve: RetrievePassages;
  searchDocuments: SearchDocuments;
  counts: ChatCounts;
  log: Logger;
  timeoutMs: number;
};

export function createKnowledge({ retrieve, searchDocuments, counts, log, timeoutMs }: KnowledgeDeps) {
  const searchRecords = createRecordSearch(searchDocuments);

  /**
   * "And in winter?" says too little by itself, and a change of the subject has nothing to do with what was said before: so the question
   * is searched for both alone and together with the questions before it, and each search has every second place of the result.
   */
  const searchPassages = async (
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

  /** Undefined where the search failed or was late; it is aborted then. */
  const inTime = async <T>(
    search: (signal: AbortSignal) => Promise<T>,
    logged: { workspace_id: string; of: string },
    signal: AbortSignal,
  ): Promise<T | undefined> => {
    const ending = new AbortController();
    try {
      return await within(abortable(search(ending.signal), signal), timeoutMs, () => {
        counts.retrievalFailures.late += 1;
        log.warn({ ...logged, timeout_ms: timeoutMs }, 'knowledge was not found in time');
        return undefined;
      });
    } catch (error) {
      signal.throwIfAborted();
      counts.retrievalFailures.failed += 1;
      log.warn({ ...logged, err: error }, 'knowledge could not be searched');
      return undefined;
    } finally {
      ending.abort();
    }
  };

  return {
    /**
     * The passages that fit best, the best first, of documents that the person may see; `isWhole`: nothing failed and nothing was late.
     * Throws only the signal's reason, and takes `timeoutMs` at most.
     */
    async find(inquiry: Inquiry, signal: AbortSignal): Promise<{ passages: Passage[]; isWhole: boolean }> {
      const workspace_id = inquiry.workspaceId;
      const [passages, records] = await Promise.all([
        inTime((ending) => searchPassages(inquiry, ending), { workspace_id, of: 'passages' }, signal),
        inTime(() => searchRecords(inquiry), { workspace_id, of: 'records' }, signal),
      ]);
      const found = combine(passages ?? [], records ?? []);
      counts.retrievals[found.length === 0 ? 'empty' : 'found'] += 1;
      return { passages: found, isWhole: passages !== undefined && records !== undefined };
    },
  };
}

/**
 * Makes one list, the best first. Passages are placed before records, because a passage holds the words of the answer itself. A
 * record takes a free place, unless passages of its document already have all the words that it was found by.
 */
function combine(passages: readonly Passage[], records: readonly FoundRecord[]): Passage[] {
  const shown = passages.slice(0, PASSAGES_MAX);
  const textOf = Map.groupBy(shown, ({ document_id }) => document_id);
  const adds = ({ passage, words }: FoundRecord): boolean => {
    const text = (textOf.get(passage.document_id) ?? []).map((each) => each.text.toLowerCase()).join('\n');
    return words.some((word) => !text.includes(word));
  };
  const added = records.filter(adds).map(({ passage }) => passage);
  return [...shown, ...added.slice(0, FOUND_MAX - shown.length)].sort(
    (one, other) => other.score - one.score,
  );
}

function queriesOf(question: string, earlier: readonly string[]): string[] {
  const alone = endsOf(question, QUERY_LENGTH_MAX);
  if (alone.trim() === '') return [];
  const context = endsOf(earlier.join('\n'), CONTEXT_LENGTH_MAX);
  return context.trim() === '' ? [alone] : [`${context}\n${alone}`, alone];
}

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
