// Passages that answer a question: ranked by their words, and shown as far as the caller may see their documents.

import type { Semaphore } from '../../core/semaphore.ts';
import type { Predicate } from '../filter/ast.ts';
import { DEFAULT_ORDER } from '../filter/order.ts';
import type { Viewer } from '../policy.ts';
import type { Prepared } from '../search/postgres/prepared.ts';
import type { ArchivedChoice, SearchQuery } from '../search/query.ts';
import { ASKED_MIN, COUNTED_MAX } from './limits.ts';
import type { createUnderstand } from './question.ts';
import type { createVisible, Passage } from './visible.ts';
import type { createRankByWords, RankedPassage } from './words.ts';

export type RetrieveMode = 'hybrid' | 'words' | 'vectors';

export type FoundPassage = Passage & {
  /** 0 to 1: how much of the question it has. */
  score: number;
};

/** A filter as `parseFilters` returns it: what holds for the documents of all passages. */
export type RetrieveFilter = {
  predicates: readonly Predicate[];
  archived: ArchivedChoice;
  /** Of one of these lists every predicate holds, too. */
  anyOf?: readonly (readonly Predicate[])[];
};

export type RetrieveRequest = {
  query: string;
  limit: number;
  mode: RetrieveMode;
  filter: RetrieveFilter | undefined;
  minScore: number | undefined;
};

export type Retrieved = { passages: FoundPassage[]; engine: string };

/** Rejects with 503 until search is prepared; with the signal's reason once that aborts. */
export type Retrieve = (viewer: Viewer, request: RetrieveRequest, signal?: AbortSignal) => Promise<Retrieved>;

export type RetrieveDeps = {
  understand: ReturnType<typeof createUnderstand>;
  rankByWords: ReturnType<typeof createRankByWords>;
  visible: ReturnType<typeof createVisible>;
  /** Throws 503 until search is prepared. */
  prepare(query: SearchQuery): Promise<Prepared>;
  /** For those whose filter no index serves. */
  slow: Semaphore;
};

export function createRetrieve(deps: RetrieveDeps): Retrieve {
  const { visible } = deps;

  return async (viewer, request, signal) => {
    const { predicates = [], archived = 'without', anyOf = [[]] } = request.filter ?? {};
    const prepared = await Promise.all(
      anyOf.map((more) =>
        deps.prepare({
          viewer,
          predicates: [...predicates, ...more],
          archived,
          order: DEFAULT_ORDER,
          offset: 0,
          limit: 0,
        }),
      ),
    );
    const run = () => retrieve(prepared, viewer, request, signal);
    const isSlow = prepared.some(({ rowTests }) => rowTests.some(({ slow }) => slow));
    const passages = await (isSlow ? deps.slow.run(run) : run());
    return { passages, engine: request.mode === 'words' ? 'postgres words' : 'postgres words (no vectors)' };
  };

  async function retrieve(
    prepared: readonly Prepared[],
    viewer: Viewer,
    { query, limit, minScore = 0 }: RetrieveRequest,
    signal: AbortSignal | undefined,
  ): Promise<FoundPassage[]> {
    const question = await deps.understand(viewer.workspaceId, query);
    signal?.throwIfAborted();
    // Of few documents the passages are looked at, in place of those of the workspace.
    const large = question.statistics.passages > COUNTED_MAX;
    const documents = large ? await visible.few(prepared) : undefined;
    const passages: FoundPassage[] = [];
    for (let asked = Math.max(ASKED_MIN, 2 * limit), seen = 0; ; asked *= 10) {
      signal?.throwIfAborted();
      const { found, more } = await deps.rankByWords(question, { limit: asked, documents });
      const fresh = found.slice(seen).filter(({ score }) => score >= minScore);
      passages.push(...(await readVisible(prepared, viewer, fresh, limit - passages.length)));
      if (passages.length >= limit || !more || (found.at(-1)?.score ?? 0) < minScore) return passages;
      seen = found.length;
    }
  }

  async function readVisible(
    prepared: readonly Prepared[],
    viewer: Viewer,
    ranked: readonly RankedPassage[],
    limit: number,
  ): Promise<FoundPassage[]> {
    const ids = ranked.map(({ passageId }) => passageId);
    const read = await visible.read(viewer, prepared, ids, limit);
    return read.map(({ index, ...passage }) => ({ ...passage, score: ranked[index]?.score ?? 0 }));
  }
}
