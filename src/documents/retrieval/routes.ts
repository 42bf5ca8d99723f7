import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters } from '../../http/input.ts';
import { toViewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { InWorkspace } from '../schema.ts';
import type { Explainer } from './explain.ts';
import { parseFilters } from './filters.ts';
import { PASSAGES_DEFAULT } from './limits.ts';
import type { FoundPassage, Retriever } from './retrieve.ts';
import * as schema from './schema.ts';

export function retrievalRoutes(
  { plugin }: Http,
  { retriever, explainer }: { retriever: Retriever; explainer: Explainer },
) {
  return new Elysia({ name: 'documents.retrieval', tags: ['documents'] }).use(plugin).post(
    '/v1/:workspace_id/retrieve',
    ({ principal, body, request: { signal } }) => {
      const { query, limit = PASSAGES_DEFAULT, mode = 'hybrid', filter, min_score } = body;
      const viewer = toViewer(principal);
      const asked = {
        query,
        limit,
        mode,
        filter: filter ? parseFilters(filter, ['body', 'filter']) : undefined,
        minScore: min_score ?? undefined,
        payer: principal,
      };
      const answerPlainly = async () => {
        const { passages, engine } = await retriever.retrieve(viewer, asked, signal);
        return { passages: passages.map(render), engine };
      };
      const answerExplained = async () => {
        const { passages, engine } = await retriever.retrieve(viewer, asked, signal);
        const why = await explainer.explain(viewer, query, passages, signal);
        const explained = passages.map((each, at) => ({
          ...render(each),
          why: { ...why[at], ...renderHalves(each) },
        }));
        return { passages: explained, engine };
      };
      return body.explain === true ? explainer.inTurn(viewer.workspaceId, answerExplained) : answerPlainly();
    },
    {
      ...READ,
      work: 'heavy',
      params: parameters(InWorkspace),
      body: json(schema.RetrieveRequest, { example: schema.RETRIEVE_REQUEST_EXAMPLE }),
      response: {
        200: answer({
          description: 'What was found.',
          schema: schema.RetrieveAnswer,
          example: schema.RETRIEVE_EXAMPLE,
        }),
      },
      detail: {
        operationId: 'documents.retrieve',
        summary: 'Find the passages that answer a question',
        description:
          'Only passages of documents that the caller may see now, and that `filter` lets pass; never fewer than asked for ' +
          'because others were left out. `engine` says what found them.',
      },
    },
  );
}

const roundScore = (score: number): number => Math.round(score * 10_000) / 10_000;

const render = ({ documentId, name, page, heading, text, score, start, end }: FoundPassage) => ({
  document_id: documentId,
  name,
  page,
  heading,
  text,
  score: roundScore(score),
  start,
  end,
});

function renderHalves({ score, halves = { words: score, vectors: null } }: FoundPassage) {
  const { words, vectors } = halves;
  return { words_score: words && roundScore(words), vectors_score: vectors && roundScore(vectors) };
}
