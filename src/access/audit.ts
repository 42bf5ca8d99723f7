// The audit log, which is read and swept here, and written by the statements of the changes.

import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import { toEmailKey } from '../core/email.ts';
import { valueError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Http } from '../http/http.ts';
import { parameters, refusals } from '../http/input.ts';
import { type Page, type PageRequest, pageAnswer, toPage, toPageRequest } from '../http/paging.ts';
import { readTime } from '../http/parsed.ts';
import { WorkspacePath } from '../http/schemas.ts';
import type { Sql, Transaction } from '../infra/postgres/client.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { AUDIT_EXAMPLE } from './examples.ts';
import { AUDIT_SWEEP_MS, AUDIT_SWEEP_ROWS, DAY_MS } from './limits.ts';
import { type AuditEntry, AuditPage, AuditQuery } from './schema.ts';
import type { WorkspaceStore } from './workspaces.ts';

type AuditRow = Omit<AuditEntry, 'id' | 'created_at' | 'object'> & {
  id: number;
  createdAt: Date;
  kind: string;
  object_id: string | null;
};

/** Absent: not asked about. `since` is inclusive, `until` exclusive. */
export type AuditFilter = {
  action?: string | undefined;
  actor?: string | undefined;
  keyId?: string | undefined;
  objectKind?: string | undefined;
  objectId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

export type AuditStore = ReturnType<typeof createAuditStore>;

/** The audit_log table, which is written by the function audit_tell alone. */
export function createAuditStore(sql: Transaction) {
  return {
    /** Newest first, one row more than the limit where others follow. An empty workspace: of the service as a whole. */
    list(workspaceId: string, { limit, after }: PageRequest, filter: AuditFilter): Promise<AuditRow[]> {
      const { action, actor, keyId, objectKind, objectId, since, until } = filter;
      return sql<AuditRow[]>`
        SELECT id, created_at AS "createdAt", action, actor, via, user_id, key_id, address, request_id,
          object_kind AS kind, object_id, before, after
        FROM audit_log
        WHERE workspace_id = ${workspaceId}
          ${action === undefined ? sql`` : sql`AND action = ${action}`}
          ${actor === undefined ? sql`` : sql`AND actor = ${actor}`}
          ${keyId === undefined ? sql`` : sql`AND key_id = ${keyId}`}
          ${objectKind === undefined ? sql`` : sql`AND object_kind = ${objectKind}`}
          ${objectId === undefined ? sql`` : sql`AND object_id = ${objectId}`}
          ${since === undefined ? sql`` : sql`AND created_at >= ${since}`}
          ${until === undefined ? sql`` : sql`AND created_at < ${until}`}
          ${after === undefined ? sql`` : sql`AND (created_at, id) < (${after.createdAt}, ${after.id}::bigint)`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    /** Deletes up to `limit` rows from before the time, the oldest first; returns how many. */
    async deleteSome(before: Date, limit: number): Promise<number> {
      const { count } = await sql`
        DELETE FROM audit_log WHERE (created_at, id) IN (
          SELECT created_at, id FROM audit_log WHERE created_at < ${before} ORDER BY created_at, id LIMIT ${limit})`;
      return count;
    },
  };
}

/** Deletes rows at the end of their time. */
export const auditSweep = (sql: Sql, retentionDays: number, { clock, log }: { clock: Clock; log: Logger }) =>
  createSweep({
    sql,
    name: 'access.audit',
    intervalMs: AUDIT_SWEEP_MS,
    horizon: () => new Date(clock.now().getTime() - retentionDays * DAY_MS),
    deleteSome: (before) => createAuditStore(sql).deleteSome(before, AUDIT_SWEEP_ROWS),
    log,
  });

const QUERY = { work: 'heavy', query: parameters(AuditQuery) } as const;
const PAGE = pageAnswer('A page of the audit log.', AuditPage, AUDIT_EXAMPLE);

export function auditRoutes({ plugin }: Http, store: AuditStore, workspaces: WorkspaceStore) {
  /** Throws ValidationFailure for times that are none, or in the wrong order. */
  const list = async (workspaceId: string, query: AuditQuery): Promise<Page<AuditEntry>> => {
    const page = toPageRequest(query, isRowId);
    return toPage(await store.list(workspaceId, page, toFilter(query)), page.limit, render);
  };
  return new Elysia({ name: 'access.audit', prefix: '/admin/api', tags: ['access'] })
    .use(plugin)
    .get(
      '/workspaces/:workspace_id/audit',
      async ({ params, query }) => {
        await workspaces.require(params.workspace_id);
        return list(params.workspace_id, query);
      },
      {
        ...QUERY,
        key: { in: 'administration', scope: 'admin' },
        params: parameters(WorkspacePath),
        response: { ...PAGE, ...refusals(404) },
        detail: {
          operationId: 'access.list-audit',
          summary: 'Who changed what in a workspace, newest first',
          description:
            'A row is written together with its change, or neither is. The filters are combined. Rows are kept for ' +
            '`AUDIT_RETENTION_DAYS`, and no operation changes them.',
        },
      },
    )
    .get('/audit', ({ query }) => list('', query), {
      ...QUERY,
      key: { in: 'administration', scope: 'operator' },
      response: PAGE,
      detail: {
        operationId: 'access.list-service-audit',
        summary: 'Who changed what of the service as a whole, newest first',
        description:
          'Changes that concern no workspace, such as making the search index anew; otherwise as for a workspace.',
      },
    });
}

const isRowId = (text: string): boolean => /^\d{1,15}$/.test(text);

function toFilter({ action, actor, object, since, until }: AuditQuery): AuditFilter {
  const [from, to] = [readTime('since', since), readTime('until', until)];
  if (from !== undefined && to !== undefined && from > to)
    throw valueError(['query', 'until'], 'until is before since', until ?? null);
  const colon = object?.indexOf(':') ?? -1;
  return {
    action,
    ...(actor !== undefined && isUuid(actor)
      ? { keyId: actor.toLowerCase() }
      : { actor: actor && toEmailKey(actor) }),
    objectKind: colon === -1 ? object : object?.slice(0, colon),
    objectId: colon === -1 ? undefined : object?.slice(colon + 1),
    since: from === undefined ? undefined : new Date(from),
    until: to === undefined ? undefined : new Date(to),
  };
}

const render = ({ id, createdAt, kind, object_id, before, after, ...row }: AuditRow): AuditEntry => ({
  id: String(id),
  created_at: createdAt.toISOString(),
  ...row,
  object: { kind, id: object_id },
  before,
  after,
});
