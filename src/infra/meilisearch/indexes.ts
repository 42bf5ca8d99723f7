// Writing to a search server: indexes, their documents, and the tasks that a server makes of each request.

import { Meilisearch, MeilisearchApiError, type Settings, type Task } from 'meilisearch';
import { traceHeaders, withSpan } from '../../core/tracing.ts';

/** The server did not do what was asked. Neither message nor fields hold any of the documents. */
export class IndexingError extends Error {
  /** The server's word for it; empty when it gave none. */
  readonly code: string;
  /** It took offence at what was sent, and would again; else it is away, busy or ill. */
  readonly refused: boolean;

  constructor(message: string, { code = '', refused = false } = {}) {
    super(message);
    this.name = 'IndexingError';
    this.code = code;
    this.refused = refused;
  }
}

const REQUEST_TIMEOUT_MS = 10_000;
/** For a batch of documents. */
const SEND_TIMEOUT_MS = 60_000;
const POLL_MS_MIN = 5;
const POLL_MS_MAX = 250;
const POLL_GROWTH = 1.4;

export type IndexSettings = Settings;

export type PageQuery = {
  ids?: readonly string[];
  filter?: readonly string[];
  sort?: readonly string[];
  offset?: number;
  limit: number;
  fields: readonly string[];
};

export type Indexes = ReturnType<typeof createIndexes>;

/** Every call throws IndexingError, and none goes on after the signal. */
export function createIndexes(connection: { url: string; apiKey: string | undefined }) {
  const { url: host, apiKey } = connection;
  const { httpRequest } = new Meilisearch({ host, ...(apiKey === undefined ? {} : { apiKey }) });
  type Method = 'get' | 'post' | 'patch' | 'delete';
  type Request = { path: string; params?: Record<string, string | number>; body?: unknown; ndjson?: string };

  const { hostname, port, protocol } = new URL(host);
  const server = {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  };
  const request = <Answer>(method: Method, options: Request, signal: AbortSignal): Promise<Answer> =>
    withSpan(
      `${method.toUpperCase()} meilisearch`,
      () => ({
        kind: 'client',
        attributes: {
          'db.system.name': 'meilisearch',
          'http.request.method': method.toUpperCase(),
          ...server,
        },
      }),
      () => send<Answer>(method, options, signal),
    );
  const send = async <Answer>(method: Method, options: Request, signal: AbortSignal): Promise<Answer> => {
    const { path, params, body, ndjson } = options;
    const limit = AbortSignal.timeout(ndjson === undefined ? REQUEST_TIMEOUT_MS : SEND_TIMEOUT_MS);
    try {
      signal.throwIfAborted();
      return await httpRequest[method]<Answer>({
        path,
        ...(params === undefined ? {} : { params }),
        ...(body === undefined ? {} : { body: body as object }),
        ...(ndjson === undefined ? {} : { body: ndjson, contentType: 'application/x-ndjson' }),
        extraRequestInit: {
          signal: AbortSignal.any([signal, limit]),
          // A compressed answer follows its head in a packet of its own, which waits 40 ms for the head's delayed acknowledgement.
          headers: { 'accept-encoding': 'identity', ...traceHeaders() },
        },
      });
    } catch (error) {
      throw toIndexingError(error);
    }
  };
  const enqueue = async (method: Method, options: Request, signal: AbortSignal): Promise<number> =>
    (await request<{ taskUid: number }>(method, options, signal)).taskUid;

  /** Resolves when the task has succeeded, however long the server takes; throws when it failed. */
  const done = async (task: number, signal: AbortSignal): Promise<void> => {
    for (let pauseMs = POLL_MS_MIN; ; pauseMs = Math.min(POLL_MS_MAX, pauseMs * POLL_GROWTH)) {
      const { status, error } = await request<Task>('get', { path: `tasks/${task}` }, signal);
      if (status === 'succeeded') return;
      if (status === 'failed' || status === 'canceled') throw toTaskError(status, error);
      await Bun.sleep(pauseMs);
    }
  };

  const at = (indexUid: string, rest = '') => `indexes/${indexUid}${rest}`;
  return {
    done,

    /** Sends documents, one JSON text a line, that replace those of the same id; returns the task. */
    replace: (indexUid: string, ndjson: string, signal: AbortSignal) =>
      enqueue('post', { path: at(indexUid, '/documents'), params: { primaryKey: 'id' }, ndjson }, signal),

    remove: (indexUid: string, ids: readonly string[], signal: AbortSignal) =>
      enqueue('post', { path: at(indexUid, '/documents/delete-batch'), body: ids }, signal),

    /** Makes the index if there is none and gives it the settings; may be repeated. */
    async prepare(indexUid: string, settings: Settings, signal: AbortSignal): Promise<void> {
      const made = await enqueue(
        'post',
        { path: 'indexes', body: { uid: indexUid, primaryKey: 'id' } },
        signal,
      );
      await done(made, signal).catch((error: unknown) => {
        if (!(error instanceof IndexingError && error.code === 'index_already_exists')) throw error;
      });
      await done(await enqueue('patch', { path: at(indexUid, '/settings'), body: settings }, signal), signal);
    },

    /** When the server made the index; undefined when it has none of that name. */
    async madeAt(indexUid: string, signal: AbortSignal): Promise<string | undefined> {
      try {
        return (await request<{ createdAt: string }>('get', { path: at(indexUid) }, signal)).createdAt;
      } catch (error) {
        if (error instanceof IndexingError && error.code === 'index_not_found') return undefined;
        throw error;
      }
    },

    /** Deletes the index, if there is one. */
    async drop(indexUid: string, signal: AbortSignal): Promise<void> {
      try {
        await done(await enqueue('delete', { path: at(indexUid) }, signal), signal);
      } catch (error) {
        if (!(error instanceof IndexingError && error.code === 'index_not_found')) throw error;
      }
    },

    /** The newest task that the server knows; -1 when it knows none. */
    async newestTask(signal: AbortSignal): Promise<number> {
      const { results } = await request<{ results: Task[] }>(
        'get',
        { path: 'tasks', params: { limit: 1 } },
        signal,
      );
      return results[0]?.uid ?? -1;
    },

    /**
     * One page of documents, of these ids or that pass a filter, in order or in the server's own, and the exact number of all
     * such documents.
     */
    page: <Row>(indexUid: string, query: PageQuery, signal: AbortSignal) =>
      request<{ results: Row[]; total: number }>(
        'post',
        { path: at(indexUid, '/documents/fetch'), body: query },
        signal,
      ),

    /** One page of what a text finds, the most relevant first; `page` counts from 1. */
    async ranked<Row>(
      indexUid: string,
      query: { q: string; filter: readonly string[]; sort: readonly string[]; page: number; size: number },
      signal: AbortSignal,
    ): Promise<{ results: Row[]; total: number }> {
      const { size, ...rest } = query;
      const body = { ...rest, hitsPerPage: size, matchingStrategy: 'all', attributesToRetrieve: ['id'] };
      const path = at(indexUid, '/search');
      const answer = await request<{ hits: Row[]; totalHits: number }>('post', { path, body }, signal);
      return { results: answer.hits, total: answer.totalHits };
    },

    async healthy(signal: AbortSignal): Promise<boolean> {
      const { status } = await request<{ status: string }>('get', { path: 'health' }, signal);
      return status === 'available';
    },
  };
}

/** Of a request: its own mistakes are 400 and 413, all else is the server's state or our key. */
function toIndexingError(error: unknown): IndexingError {
  if (!(error instanceof MeilisearchApiError))
    return new IndexingError('the search server cannot be reached, or did not answer in time');
  const { cause, response } = error;
  const refused = response.status === 400 || response.status === 413;
  return new IndexingError(`the search server answered ${response.status} ${cause?.code ?? ''}`.trimEnd(), {
    code: cause?.code ?? '',
    refused,
  });
}

/** Messages of tasks may quote the document: only the code is told. */
function toTaskError(status: string, error: Task['error']): IndexingError {
  const code = error?.code ?? status;
  const refused = error?.type === 'invalid_request' && code !== 'index_not_found';
  return new IndexingError(`the search server's task ended with ${code}`, {
    code,
    refused: refused || code === 'internal',
  });
}
