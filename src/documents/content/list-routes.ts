import { Elysia } from 'elysia';
import { valueError } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, parameters, refusals } from '../../http/input.ts';
import { pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { documentNotFound, parseDocumentId, toViewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { renderContent } from './routes.ts';
import * as schema from './schema.ts';
import type { ContentCounts, ContentStates, ListedContent } from './states.ts';
import type { ContentState } from './store.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

export type ContentListDeps = {
  states: ContentStates;
  workspaces: Pick<WorkspaceSettings, 'readsFiles'>;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  /** Whether files are read at all. */
  reads: boolean;
};

const toStates = (status: Exclude<ContentState, 'off'>): ContentState[] =>
  status === 'unsupported' ? ['unsupported', 'off'] : [status];

/** The passages of a document, the states of several, and how many documents are in each state. */
export function contentListRoutes(
  { plugin }: Http,
  { states, workspaces, requireWorkspace, reads }: ContentListDeps,
) {
  const render = ({ id, name, createdAt: _, revision: __, ...content }: ListedContent) => ({
    document_id: id,
    name,
    ...renderContent(content, reads),
  });
  return new Elysia({ name: 'documents.content.list-routes', tags: ['documents'] })
    .use(plugin)
    .get(
      '/v1/:workspace_id/file/:file_id/passages',
      async ({ principal, params, query: { limit = 50, cursor } }) => {
        const id = parseDocumentId(params.file_id);
        const request = { from: Number(cursor || 0), limit: limit + 1 };
        const passages = await states.passages(toViewer(principal), id, request);
        if (passages === undefined) throw documentNotFound();
        return {
          items: passages.slice(0, limit),
          next_cursor: passages.length > limit ? String(passages[limit]?.passage) : null,
        };
      },
      {
        ...READ,
        params: parameters(schema.ByFileId),
        query: parameters(schema.PassageQuery),
        response: {
          ...pageAnswer('A page of passages.', schema.PassageList, schema.PASSAGE_EXAMPLE),
          ...refusals(404),
        },
        detail: {
          operationId: 'documents.passages',
          summary: 'List the passages of a document, in their order',
        },
      },
    )
    .get(
      '/v1/:workspace_id/contents',
      async ({ principal, query }) => {
        const viewer = toViewer(principal);
        const { document_id: ids, status, ...paging } = query;
        if (ids !== undefined) {
          if (status !== undefined)
            throw valueError(
              ['query', 'status'],
              'documents are named, so there is no state to ask for',
              status,
            );
          return { items: (await states.among(viewer, ids)).map(render), next_cursor: null };
        }
        const page = toPageRequest(paging, isUuid);
        const rows = await states.list(viewer, toStates(status ?? 'failed'), page);
        return toPage(rows, page.limit, render);
      },
      {
        ...READ,
        params: parameters(schema.InWorkspace),
        query: parameters(schema.ContentListQuery),
        response: {
          ...pageAnswer('A page of states.', schema.ContentList, schema.CONTENT_ROW_EXAMPLE),
        },
        detail: {
          operationId: 'documents.contents',
          summary: "Read the states of several documents' texts",
          description:
            'Those of the documents that are named, or all that are in one state: exactly one of the two.',
        },
      },
    )
    .get(
      '/admin/api/workspaces/:workspace_id/content/summary',
      async ({ params }) => {
        await requireWorkspace(params.workspace_id);
        const [counts, readsFiles] = await Promise.all([
          states.count(params.workspace_id),
          workspaces.readsFiles(params.workspace_id),
        ]);
        return renderCounts(counts, { reads, readsFiles });
      },
      {
        key: { in: 'administration', scope: 'admin' },
        params: parameters(WorkspacePath),
        response: {
          200: answer({
            description: 'Counts.',
            schema: schema.ContentSummary,
            example: schema.CONTENT_SUMMARY_EXAMPLE,
          }),
          ...refusals(404),
        },
        detail: { operationId: 'documents.content-summary', summary: "How far a workspace's files are read" },
      },
    );
}

/** The states have the names of `renderContent`: documents that are not read count as `unsupported`. */
function renderCounts(counts: ContentCounts, { reads, readsFiles }: { reads: boolean; readsFiles: boolean }) {
  const { pending, ready, empty, unsupported, failed, off, unknown, passages, waitingSince } = counts;
  const { withoutVectors } = counts;
  const waiting = reads ? pending + (readsFiles ? unknown : 0) : 0;
  return {
    documents: {
      pending: waiting,
      ready,
      empty,
      unsupported: unsupported + off + (pending + unknown - waiting),
      failed,
    },
    passages,
    without_vectors: withoutVectors,
    waiting_since: waiting > 0 ? (waitingSince?.toISOString() ?? null) : null,
  };
}
