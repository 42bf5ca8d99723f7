// Passages whose vectors are nearest to that of a question.

import { LRUCache } from 'lru-cache';
import type { Embeddings, Payer } from '../../core/embed-texts.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isLimited } from '../../core/principal.ts';
import { NoRoom, type VectorEngine } from './engine.ts';
import { QUERIES_KEPT_MAX, QUERY_EMBEDDING_MS_MAX, QUERY_KEPT_LENGTH_MAX } from './limits.ts';
import type { Answering, createLoading } from './loading.ts';
import { type Query, toQuery } from './quantise.ts';

type Request = {
  workspaceId: string;
  query: string;
  limit: number;
  /** Needed once the query is embedded; where it rejects, the search does. */
  documents?: ReadonlySet<string> | Promise<ReadonlySet<string> | undefined>;
  /** The vector of the query counts for them; `limited` is called where a limit of theirs refuses it. */
  payer?: Payer | undefined;
  limited?(): void;
};

export type SearchVectors = ReturnType<typeof createSearchVectors>['searchVectors'];
export type FoundByVectors = NonNullable<Awaited<ReturnType<SearchVectors>>>;

const NEVER = new AbortController().signal;

export function createSearchVectors(deps: {
  loading: ReturnType<typeof createLoading>;
  engineFor(answering: Answering): VectorEngine;
  embeddings: Embeddings;
  log: Logger;
}) {
  const { log } = deps;
  const queries = new LRUCache<string, Query>({ max: QUERIES_KEPT_MAX });
  const outcomes = { found: 0, none: 0, loading: 0, no_room: 0, limited: 0, failed: 0 };

  async function embed(
    { model, workspaceId, dimensions }: Answering,
    { query, payer }: Request,
    signal: AbortSignal,
  ): Promise<Query> {
    const key = [workspaceId, model, query].join('\0');
    const known = queries.get(key);
    if (known !== undefined) return known;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(QUERY_EMBEDDING_MS_MAX)]);
    const [vector = []] = await deps.embeddings.embed({ model, workspaceId, texts: [query], payer }, inTime);
    if (vector.length !== dimensions)
      throw new Error(`the model ${model} answers another number of dimensions than before`);
    const embedded = toQuery(vector);
    if (query.length <= QUERY_KEPT_LENGTH_MAX) queries.set(key, embedded);
    return embedded;
  }

  /** Undefined where vectors are not available now, which costs a search no more than them. */
  async function attempt<T>(request: Request, signal: AbortSignal, run: () => Promise<T>) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      if (isLimitation(error, request.payer)) {
        outcomes.limited += 1;
        request.limited?.();
      } else if (error instanceof NoRoom)
        // /readyz reports it.
        outcomes.no_room += 1;
      else {
        outcomes.failed += 1;
        log.warn({ workspace: request.workspaceId, err: error }, 'a search goes without vectors');
      }
      return undefined;
    }
  }

  /**
   * The passages of a workspace whose vectors are nearest to the query's, as the engine finds them: best first, fewer than asked for only
   * where there are no more; among `documents` alone, and exactly, where they are given. The caller of this function
   * checks that a passage still exists and that the person may see it. Undefined where nothing is embedded yet, and where vectors are
   * not available now: they are being loaded, have no room, or the model does not answer. Rejects with the signal's reason when it
   * aborts, and as the database does.
   */
  async function searchVectors(request: Request, signal: AbortSignal = NEVER) {
    const { workspaceId, limit, documents } = request;
    // In case an error is thrown before the wait for it below.
    Promise.resolve(documents).catch(() => undefined);
    const answering = await deps.loading.answering(workspaceId);
    signal.throwIfAborted();
    if (answering === undefined) {
      outcomes.none += 1;
      return undefined;
    }
    const opened = await attempt(request, signal, () =>
      Promise.all([deps.engineFor(answering).open(answering), embed(answering, request, signal)]),
    );
    signal.throwIfAborted();
    if (opened === undefined) return undefined;
    const [find, embedded] = opened;
    if (find === undefined) {
      outcomes.loading += 1;
      return undefined;
    }
    const among = await documents;
    signal.throwIfAborted();
    return attempt(request, signal, async () => {
      const { nearest, how } = await find(embedded, { limit, documents: among && [...among] }, signal);
      outcomes.found += 1;
      return {
        /** The model and the kind of search, as an answer names them. */
        engine: `${answering.model} (${how})`,
        /** The score is the cosine of the vectors, -1 to 1. */
        found: nearest.map(({ id, score }) => ({ passageId: String(id), score: score * embedded.scale })),
      };
    });
  }

  return { searchVectors, outcomes: outcomes as Readonly<typeof outcomes> };
}

/** Refused because of a limit of the payer's key. */
const isLimitation = (error: unknown, payer: Payer | undefined): boolean =>
  payer !== undefined &&
  isLimited(payer.limits) &&
  error instanceof ServiceError &&
  (error.kind === 'too-many-requests' || error.kind === 'malformed');
