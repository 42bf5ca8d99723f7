// The documents of a workspace as a vector store of OpenAI's API: its search, for clients of that API.

import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { isRawNumber } from '../../core/json.ts';
import type { Principal } from '../../core/principal.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters } from '../../http/input.ts';
import { openAiRefusals } from '../../http/openai-error.ts';
import { component, nullable, oneOf, optional, text } from '../../http/schemas.ts';
import type { Document } from '../document.ts';
import { toViewer } from '../policy.ts';
import { InWorkspace } from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import {
  QUERIES_MAX,
  QUERY_LENGTH_MAX,
  RESULT_ATTRIBUTE_LENGTH_MAX,
  RESULT_ATTRIBUTES_MAX,
  RESULTS_DEFAULT,
  RESULTS_MAX,
} from './limits.ts';
import { parseOpenAiFilters } from './openai-filters.ts';
import type { FoundPassage, Retriever } from './retrieve.ts';

const Query = Type.String({ minLength: 1, maxLength: QUERY_LENGTH_MAX });

const SearchRequest = component('VectorStoreSearchRequest', "A search in the shape of OpenAI's API.", {
  query: Type.Union([Query, Type.Array(Query, { minItems: 1, maxItems: QUERIES_MAX })], {
    description: 'A question, or several, of which each passage keeps its best score.',
  }),
  filters: Type.Optional(
    Type.Unknown({
      description:
        'A comparison `{key, type, value}` (eq, ne, gt, gte, lt, lte, in, nin), or `{type, filters}` with `and` or `or`. Keys are attributes of ' +
        'documents (`name`, `tags`, `file_type`, `created_at` in seconds since 1970 …); any other key is one of `slots`. ' +
        '`gt` and its like compare `created_at` and `file_size`.',
    }),
  ),
  max_num_results: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: RESULTS_MAX,
      default: RESULTS_DEFAULT,
      description: 'How many results to return.',
    }),
  ),
  ranking_options: optional(
    Type.Object({
      ranker: Type.Optional(
        oneOf(['none', 'auto', 'default-2024-11-15'], { description: 'All are ranked in one way here.' }),
      ),
      score_threshold: Type.Optional(
        Type.Number({ minimum: 0, maximum: 1, description: 'Results with a lower score are left out.' }),
      ),
    }),
    'How results are ranked.',
  ),
  rewrite_query: Type.Optional(
    Type.Literal(false, { default: false, description: 'A query is asked as it is.' }),
  ),
});
type SearchRequest = Static<typeof SearchRequest>;

const Attribute = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

const SearchPage = component('VectorStoreSearchResults', "Results in the shape of OpenAI's API.", {
  object: Type.Literal('vector_store.search_results.page', { description: 'Always this.' }),
  search_query: Type.Array(Type.String(), { description: 'The queries, as they were asked.' }),
  data: Type.Array(
    Type.Object({
      file_id: text('Unique identifier of the file.'),
      filename: text('The name of the document.'),
      score: Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'How much of the query it has, from 0 to 1.',
      }),
      attributes: nullable(
        Type.Record(Type.String(), Attribute),
        'Type, size, time and status of the document, and what `slots` holds that is a text, a number or a boolean.',
      ),
      content: Type.Array(
        Type.Object({
          type: Type.Literal('text', { description: 'Always this.' }),
          text: text('The passage.'),
        }),
        { description: 'One passage.' },
      ),
    }),
    { description: 'The best first; a file may have several.' },
  ),
  has_more: Type.Boolean({ description: 'Whether more was found than `max_num_results`.' }),
  next_page: nullable(Type.String(), 'Always null: the next results are had by a larger `max_num_results`.'),
});

const REQUEST_EXAMPLE = {
  query: 'How often is the filter of the pump changed?',
  max_num_results: 3,
  filters: { type: 'eq', key: 'tags', value: 'manual' },
};

const EXAMPLE = {
  object: 'vector_store.search_results.page',
  search_query: ['How often is the filter of the pump changed?'],
  data: [
    {
      file_id: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa',
      filename: 'Pump manual.pdf',
      score: 0.71,
      attributes: {
        file_type: 'pdf',
        file_size: 48_213,
        created_at: 1_795_218_936,
        status: 'public',
        revision: 7,
      },
      content: [{ type: 'text', text: 'Change the filter of the pump every 500 hours.' }],
    },
  ],
  has_more: false,
  next_page: null,
};

type VectorStoreDeps = { retriever: Retriever; documents: Pick<DocumentStore, 'readVisible'> };

export function vectorStoreRoutes({ plugin }: Http, deps: VectorStoreDeps) {
  return new Elysia({ name: 'documents.retrieval.vector-store', tags: ['documents'] })
    .use(plugin)
    .post(
      '/v1/vector_stores/:workspace_id/search',
      ({ principal, body, request }) => search(deps, principal, body, request.signal),
      {
        key: { in: 'key', scope: 'documents:read' },
        work: 'heavy',
        errors: 'openai',
        params: parameters(InWorkspace),
        body: json(SearchRequest, { example: REQUEST_EXAMPLE }),
        response: {
          200: answer({ description: 'What was found.', schema: SearchPage, example: EXAMPLE }),
          ...openAiRefusals(400, 401, 403, 408, 413, 415, 503),
        },
        detail: {
          operationId: 'documents.search-vector-store',
          summary: "Find passages as OpenAI's vector stores do",
          description:
            'The workspace is the vector store: `client.vectorStores.search(workspace, …)` of the SDKs finds the passages that ' +
            '`retrieve` finds. Errors have the shape of that API.',
        },
      },
    );
}

async function search(
  { retriever, documents }: VectorStoreDeps,
  principal: Principal,
  body: SearchRequest,
  signal: AbortSignal,
): Promise<Static<typeof SearchPage>> {
  const viewer = toViewer(principal);
  const { query, filters, max_num_results = RESULTS_DEFAULT, ranking_options } = body;
  const queries = typeof query === 'string' ? [query] : query;
  const filter = filters == null ? undefined : parseOpenAiFilters(filters);
  const minScore = ranking_options?.score_threshold;
  // One passage more than is shown decides `has_more`.
  const limit = max_num_results + 1;
  const found = await Promise.all(
    queries.map((each) =>
      retriever.retrieve(
        viewer,
        { query: each, limit, mode: 'hybrid', filter, minScore, payer: principal },
        signal,
      ),
    ),
  );
  const passages = best(found.flatMap((each) => each.passages));
  const shown = passages.slice(0, max_num_results);
  const records = await documents.readVisible(viewer, [
    ...new Set(shown.map(({ documentId }) => documentId)),
  ]);
  const byId = new Map(records.map((record) => [record.id, record]));
  return {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: shown.map(({ documentId, name, score, text: passage }) => ({
      file_id: documentId,
      filename: name,
      score: Math.round(score * 10_000) / 10_000,
      attributes: attributesOf(byId.get(documentId)),
      content: [{ type: 'text', text: passage }],
    })),
    has_more: passages.length > max_num_results,
    next_page: null,
  };
}

/** Each passage once, with its best score; the best first. */
function best(passages: readonly FoundPassage[]): FoundPassage[] {
  const sorted = [...passages].sort((left, right) => right.score - left.score);
  const seen = new Set<string>();
  return sorted.filter(({ documentId, passage }) => {
    const key = `${documentId} ${passage}`;
    return !seen.has(key) && seen.add(key);
  });
}

function attributesOf(document: Document | undefined): Record<string, Static<typeof Attribute>> | null {
  if (document === undefined) return null;
  const { fileType, fileSize, createdAt, status, slots } = document;
  const own = {
    file_type: fileType,
    file_size: fileSize,
    created_at: Math.floor(createdAt.getTime() / 1000),
    status,
  };
  const attributes: [string, Static<typeof Attribute>][] = [];
  for (const [key, value] of Object.entries<unknown>({ ...slots, ...own })) {
    const plain = isRawNumber(value) ? Number(value.rawJSON) : value;
    if (typeof plain === 'string')
      attributes.push([key, plain.slice(0, RESULT_ATTRIBUTE_LENGTH_MAX).toWellFormed()]);
    if (typeof plain === 'number' || typeof plain === 'boolean') attributes.push([key, plain]);
  }
  return Object.fromEntries(attributes.slice(-RESULT_ATTRIBUTES_MAX));
}
