// Passages whose vectors are nearest to that of a question.

import type { LRUCache } from 'lru-cache';
import type { Embeddings, Payer } from '../../core/embed-texts.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isLimited } from '../../core/principal.ts';
import type { VectorEngine } from './engine.ts';
import { QUERY_EMBEDDING_MS_MAX, QUERY_KEPT_LENGTH_MAX } from './limits.ts';
import type { Answering, createLoading } from './loading.ts';
import { type Query, toQuery } from './quantise.ts';
import { NoRoom } from './spaces.ts';

export type FoundByVectors = {
  /** The model and the kind of search, as an answer names them. */
  engine: string;
  /** Best first; the score is the cosine of the vectors, -1 to 1. Fewer than asked for only where there are no more. */
  found: { passageId: string; score: number }[];
};

/**
 * The passages of a workspace whose vectors are nearest to the query's, as the engine finds them; among `documents` alone, and
 * exactly, where they are given. A passage may have been replaced or purged meanwhile, and whether the caller may see it is to be asked. Undefined
 * where nothing is embedded yet, and where vectors are not available now: they are being loaded, have no room, or the model
 * does not answer. Rejects with the signal's reason when it aborts, and as the database does.
 */
export type SearchVectors = (
  request: {
    workspaceId: string;
    query: string;
    limit: number;
    /** Needed once the query is embedded; where it rejects, the search does. */
    documents?: ReadonlySet<string> | Promise<ReadonlySet<string> | undefined>;
    /** The vector of the query counts for them; `limited` is called where a limit of theirs refuses it. */
    payer?: Payer | undefined;
    limited?(): void;
  },
  signal?: AbortSignal,
) => Promise<FoundByVectors | undefined>;

export type SearchOutcome = 'found' | 'none' | 'loading' | 'no_room' | 'limited' | 'failed';

export function createSearchVectors(deps: {
  loading: ReturnType<typeof createLoading>;
  engineFor(answering: Answering): VectorEngine;
  embeddings: Embeddings;
  queries: LRUCache<string, Query>;
  count(outcome: SearchOutcome): void;
  log: Logger;
}): SearchVectors {
  const { queries, count, log } = deps;

  async function embed(
    { model, workspaceId }: Answering,
    { query, payer }: { query: string; payer?: Payer | undefined },
    signal: AbortSignal,
  ): Promise<Query> {
    const key = [workspaceId, model, query].join('\0');
    const known = queries.get(key);
    if (known !== undefined) return known;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(QUERY_EMBEDDING_MS_MAX)]);
    const [vector = []] = await deps.embeddings.embed({ model, workspaceId, texts: [query], payer }, inTime);
    const embedded = toQuery(vector);
    if (query.length <= QUERY_KEPT_LENGTH_MAX) queries.set(key, embedded);
    return embedded;
  }

  return async ({ workspaceId, query, limit, documents, payer, limited }, signal = NEVER) => {
    // In case an error is thrown before the wait for it below.
    Promise.resolve(documents).catch(() => undefined);
    const answering = await deps.loading.answering(workspaceId);
    signal.throwIfAborted();
    if (answering === undefined) {
      count('none');
      return undefined;
    }
    const attempt = async <T>(run: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await run();
      } catch (error) {
        signal.throwIfAborted();
        if (isLimitation(error, payer)) {
          count('limited');
          limited?.();
          return undefined;
        }
        count(error instanceof NoRoom ? 'no_room' : 'failed');
        // /readyz reports a lack of room.
        if (!(error instanceof NoRoom))
          log.warn({ workspace: workspaceId, err: error }, 'a search goes without vectors');
        return undefined;
      }
    };
    const opened = await attempt(async () => {
      const [find, embedded] = await Promise.all([
        deps.engineFor(answering).open(answering),
        embed(answering, { query, payer }, signal),
      ]);
      if (find !== undefined && embedded.components.length !== answering.dimensions)
        throw new Error(`the model ${answering.model} answers another number of dimensions than before`);
      return { find, embedded };
    });
    if (opened === undefined) return undefined;
    const { find, embedded } = opened;
    if (find === undefined) {
      signal.throwIfAborted();
      count('loading');
      return undefined;
    }
    const among = await documents;
    signal.throwIfAborted();
    return attempt(async () => {
      const { nearest, how } = await find(embedded, { limit, documents: among && [...among] }, signal);
      count('found');
      const found = nearest.map(({ id, score }) => ({
        passageId: String(id),
        score: score * embedded.scale,
      }));
      return { engine: `${answering.model} (${how})`, found };
    });
  };
}

/** Refused because of a limit of the payer's key. */
const isLimitation = (error: unknown, payer: Payer | undefined): boolean =>
  payer !== undefined &&
  isLimited(payer.limits) &&
  error instanceof ServiceError &&
  (error.kind === 'too-many-requests' || error.kind === 'malformed');

const NEVER = new AbortController().signal;
