// The history of documents for those who may see them, and the removal of its old rows.

import { Elysia } from 'elysia';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { Http } from '../../http/http.ts';
import { parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createSweep } from '../../infra/postgres/sweep.ts';
import { HISTORY_SWEEP_MS, HISTORY_SWEEP_ROWS } from '../limits.ts';
import type { FindUser } from '../policy.ts';
import { canAdminister, canSee, documentNotFound, parseDocumentId, toViewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { ByFileId } from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { DocumentHistoryPage, HISTORY_EXAMPLE } from './schema.ts';
import { createHistoryStore, type FieldChange } from './store.ts';

const DAY_MS = 86_400_000;

export type HistoryDeps = {
  sql: Sql;
  documents: DocumentStore;
  findUser: FindUser;
  clock: Clock;
  /** Days after which rows are deleted, uploads apart; 0 keeps them. */
  settings: { auditRetentionDays: number };
  log: Logger;
};

export function createHistory(deps: HistoryDeps) {
  const { sql, clock, settings, log } = deps;
  const store = createHistoryStore(sql);
  const sweep = createSweep({
    sql,
    name: 'documents.history',
    intervalMs: HISTORY_SWEEP_MS,
    horizon: () => new Date(clock.now().getTime() - settings.auditRetentionDays * DAY_MS),
    deleteSome: (before) => store.deleteSome(before, HISTORY_SWEEP_ROWS),
    log,
  });
  return {
    routes: (http: Http) => historyRoute(http, store, deps),
    jobs: settings.auditRetentionDays === 0 ? [] : [sweep],
  };
}

const historyRoute = (
  { plugin }: Http,
  store: ReturnType<typeof createHistoryStore>,
  { documents, findUser }: Pick<HistoryDeps, 'documents' | 'findUser'>,
) =>
  new Elysia({ name: 'documents.history', tags: ['documents'] }).use(plugin).get(
    '/v1/:workspace_id/file/:file_id/history',
    async ({ principal, params, query }) => {
      const page = toPageRequest(query, isRowId);
      const id = parseDocumentId(params.file_id);
      const viewer = toViewer(principal);
      const document = await documents.locate(id);
      if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
      const rows = await store.list(viewer, id, page);
      const ownerId = rows.find((row) => row.action === 'upload')?.ownerId ?? undefined;
      const { workspaceId } = viewer;
      const owner = ownerId === undefined ? undefined : await findUser({ workspaceId, userId: ownerId });
      const shown = canAdminister(viewer, document);
      return toPage(rows, page.limit, (row) => ({
        id: String(row.id),
        created_at: row.createdAt.toISOString(),
        action: row.action,
        actor: row.action === 'upload' ? (owner?.email ?? null) : row.actor,
        via: row.via,
        key_id: shown ? row.keyId : null,
        address: shown ? row.address : null,
        changes: (row.changes ?? []).map((change) => (row.becameVisible ? withoutBefore(change) : change)),
      }));
    },
    {
      ...READ,
      params: parameters(ByFileId),
      query: parameters(PageQuery),
      response: {
        ...pageAnswer('A page of the history.', DocumentHistoryPage, HISTORY_EXAMPLE),
        ...refusals(404),
      },
      detail: {
        operationId: 'documents.history',
        summary: 'List who did what with a document, newest first',
        description:
          'Everybody who sees the document sees what has changed since it last became visible to them; what was before is for its ' +
          'owner, curators and administrators, keys and addresses for its owner and administrators. The last row is its upload. Rows go with their document, and, but for the upload, after `AUDIT_RETENTION_DAYS`; who ' +
          'has purged a document stands in the audit log.',
      },
    },
  );

/** The status alone is no secret: the reader knows that it was another one. */
const withoutBefore = (change: FieldChange): FieldChange =>
  change.field === 'status' ? change : { ...change, before: null };

const isRowId = (text: string): boolean => /^\d{1,15}$/.test(text);
