// Passages that answer a question: ranked by their words and their vectors, among the documents that the caller may see.

import type { Payer } from '../../core/embed-texts.ts';
import { abortable } from '../../core/wait.ts';
import { cancelledBy, type Sql, type Transaction } from '../../infra/postgres/client.ts';
import type { Predicate } from '../filter/ast.ts';
import { DEFAULT_ORDER } from '../filter/order.ts';
import type { Viewer } from '../policy.ts';
import type { createDocumentSearch } from '../search/index.ts';
import type { SearchPlan } from '../search/postgres/statement.ts';
import type { ArchivedChoice } from '../search/query.ts';
import { createTurns } from '../search/slow-searches.ts';
import type { SearchVectors } from '../vectors/search.ts';
import { fuse } from './fusion.ts';
import { FUSED_MIN } from './limits.ts';
import { readQuestion, termsOf } from './question.ts';
import { candidatesAt, candidatesOf, type Halves, rank, weigh } from './rank.ts';
import type { Stemmer } from './stems.ts';
import { areFew, findDocuments, isAmong, type Passage, readPassages } from './visible.ts';

export type FoundPassage = Omit<Passage, 'index'> & {
  /** 0 to 1: how much of the question it has, and how near it is. Scores of different modes are not to be compared. */
  score: number;
  /** Absent where it was found by words alone. */
  halves?: Halves | undefined;
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
  mode: 'hybrid' | 'words' | 'vectors';
  filter: RetrieveFilter | undefined;
  minScore: number | undefined;
  /** An upstream's vector of the question counts for them; beyond their limits the answer is by words. */
  payer?: Payer | undefined;
};

export type Retriever = ReturnType<typeof createRetriever>;

const WORDS = 'postgres words';

export function createRetriever(deps: {
  /** For the statements of searches. */
  searchSql: Sql;
  stemmer: Stemmer;
  searchVectors: SearchVectors;
  search: Pick<ReturnType<typeof createDocumentSearch>, 'plan' | 'slow'>;
}) {
  const inTurn = createTurns(deps.search.slow);

  return {
    /** Rejects with 503 until search is prepared; with the signal's reason as soon as that aborts, and its statements end then. */
    async retrieve(viewer: Viewer, request: RetrieveRequest, signal?: AbortSignal) {
      const { predicates = [], archived = 'without', anyOf = [[]] } = request.filter ?? {};
      const page = { order: DEFAULT_ORDER, offset: 0, limit: 0 };
      const plans = await Promise.all(
        anyOf.map((more) =>
          deps.search.plan({ viewer, predicates: [...predicates, ...more], archived, ...page }),
        ),
      );
      const sql = signal === undefined ? deps.searchSql : cancelledBy(deps.searchSql, signal);
      const run = () => rankAndRead(sql, plans, { viewer, request, signal });
      const retrieved = plans.some(({ slow }) => slow) ? inTurn(viewer.workspaceId, run) : run();
      return signal === undefined ? retrieved : abortable(retrieved, signal);
    },
  };

  async function rankAndRead(
    sql: Transaction,
    plans: readonly SearchPlan[],
    {
      viewer,
      request,
      signal,
    }: { viewer: Viewer; request: RetrieveRequest; signal: AbortSignal | undefined },
  ): Promise<{ passages: FoundPassage[]; engine: string }> {
    const { query, mode, payer, minScore = 0 } = request;
    const { workspaceId } = viewer;
    signal?.throwIfAborted();
    const limit = Math.max(FUSED_MIN, 2 * request.limit);
    const documents = findDocuments(sql, plans);

    const byWords = async () => {
      const [question, ids] = await Promise.all([
        readQuestion(deps.searchSql, deps.stemmer, viewer, query),
        documents,
      ]);
      const terms = termsOf(workspaceId, question);
      const weighed = await weigh(sql, { workspaceId, terms, documents: ids });
      if (terms.length === 0) return { weighed, found: [] };
      const candidates = candidatesOf(sql, weighed, { limit, among: isAmong(sql, plans, ids) });
      return { weighed, found: await rank(sql, weighed, candidates, limit) };
    };

    let without = 'vectors are not available';
    const limited = (): void => {
      without = 'no vectors: the limits of the API key do not allow a call of the model';
    };
    /** More are asked for until enough of them are of documents that the caller may see. */
    const byVectors = async () => {
      const few = documents.then((ids) => (areFew(ids) ? new Set(ids) : undefined));
      for (let most = limit; ; most *= 10) {
        const asked = { workspaceId, query, limit: most, documents: few, payer, limited };
        const nearest = await deps.searchVectors(asked, signal);
        if (nearest === undefined || (await few) !== undefined) return nearest;
        const ids = nearest.found.map(({ passageId }) => passageId);
        const seen = await sql<{ id: string }[]>`
          SELECT id::text AS id FROM document_passages
          WHERE id = ANY (${ids}::bigint[]) AND ${isAmong(sql, plans, await documents)}`;
        const visible = new Set(seen.map(({ id }) => id));
        // What the others are worth depends on the least cosine: that of a passage which the caller does not see would tell of it.
        const found = nearest.found.filter(({ passageId }) => visible.has(passageId));
        if (found.length >= limit || ids.length < most) return { ...nearest, found: found.slice(0, limit) };
        signal?.throwIfAborted();
      }
    };

    const [words, nearest] = await Promise.all([
      mode === 'vectors' ? undefined : byWords(),
      mode === 'words' ? undefined : byVectors(),
    ]);
    const ranked = async () => {
      if (nearest === undefined) return (words ?? (await byWords())).found;
      if (words === undefined)
        return nearest.found.map(({ passageId, score }) => ({
          passageId,
          score: Math.min(1, Math.max(0, score)),
          halves: { words: null, vectors: score },
        }));
      const known = new Set(words.found.map(({ passageId }) => passageId));
      const others = nearest.found.map(({ passageId }) => passageId).filter((id) => !known.has(id));
      const rest = await rank(sql, words.weighed, candidatesAt(sql, words.weighed, others), others.length);
      return fuse([...words.found, ...rest], nearest);
    };
    const found = (await ranked()).filter(({ score }) => score >= minScore);
    const ids = found.slice(0, 2 * request.limit).map(({ passageId }) => passageId);
    const passages = await readPassages(sql, plans, { ids, limit: request.limit });
    return {
      passages: passages.map(({ index, ...passage }) => {
        const { score = 0, halves } = found[index] ?? {};
        return { ...passage, score, halves };
      }),
      engine: engineOf(mode, nearest?.engine, without),
    };
  }
}

/** What has found the passages, as answers name it. Without vectors all modes are those of words. */
function engineOf(mode: RetrieveRequest['mode'], vectors: string | undefined, without: string): string {
  if (mode === 'words') return WORDS;
  if (vectors === undefined) return `${WORDS} (${without})`;
  return mode === 'vectors' ? vectors : `${WORDS} + ${vectors}`;
}
