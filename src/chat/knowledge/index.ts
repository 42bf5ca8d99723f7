// What an answer may rest on: passages of texts, and records of documents, which also find documents without a text. Both
// are asked at once, within a time; one that fails or is late costs what it would have found, and nothing else.

import type { Logger } from '../../core/logger.ts';
import { abortable, within } from '../../core/wait.ts';
import { FOUND_MAX, PASSAGES_MAX } from '../limits.ts';
import type { RetrievalCounts } from '../metrics.ts';
import type { Inquiry, Passage } from './passage.ts';
import { createPassageSearch, type RetrievePassages } from './passages.ts';
import { createRecordSearch, type FoundRecord, type SearchDocuments } from './records.ts';

/** `isWhole`: nothing failed and nothing was late. */
export type Found = { passages: Passage[]; isWhole: boolean };

export type Knowledge = {
  /**
   * The passages that fit best, the best first, of documents that the person may see. It never throws but for the
   * signal's reason, and takes `timeoutMs` at most.
   */
  find(inquiry: Inquiry, signal: AbortSignal): Promise<Found>;
};

export type KnowledgeDeps = {
  retrieve: RetrievePassages;
  searchDocuments: SearchDocuments;
  counts: RetrievalCounts;
  log: Logger;
  timeoutMs: number;
};

export function createKnowledge(deps: KnowledgeDeps): Knowledge {
  const { counts, log, timeoutMs } = deps;
  const searchPassages = createPassageSearch(deps.retrieve);
  const searchRecords = createRecordSearch(deps.searchDocuments);

  /** Undefined where it failed or was late; `search` is aborted then. */
  const inTime = async <T>(
    { workspaceId }: Inquiry,
    { of, search, signal }: { of: string; search(signal: AbortSignal): Promise<T>; signal: AbortSignal },
  ): Promise<T | undefined> => {
    const ending = new AbortController();
    try {
      const late = (): undefined => {
        counts.late += 1;
        log.warn({ workspace_id: workspaceId, of, timeout_ms: timeoutMs }, 'knowledge was not found in time');
        return undefined;
      };
      return await within(abortable(search(ending.signal), signal), timeoutMs, late);
    } catch (error) {
      signal.throwIfAborted();
      counts.failed += 1;
      log.warn({ err: error, workspace_id: workspaceId, of }, 'knowledge could not be searched');
      return undefined;
    } finally {
      ending.abort();
    }
  };

  return {
    async find(inquiry, signal) {
      const [passages, records] = await Promise.all([
        inTime(inquiry, { of: 'passages', search: (ending) => searchPassages(inquiry, ending), signal }),
        inTime(inquiry, { of: 'records', search: () => searchRecords(inquiry), signal }),
      ]);
      const found = combine(passages ?? [], records ?? []);
      counts[found.length === 0 ? 'empty' : 'found'] += 1;
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
