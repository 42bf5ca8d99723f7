import type { PageRequest } from '../../http/paging.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

export type AuditRow = {
  id: number;
  createdAt: Date;
  action: string;
  actor: string;
  via: string;
  userId: string | null;
  keyId: string | null;
  address: string | null;
  requestId: string | null;
  objectKind: string;
  objectId: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
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
        SELECT id, created_at AS "createdAt", action, actor, via, user_id AS "userId", key_id AS "keyId", address,
          request_id AS "requestId", object_kind AS "objectKind", object_id AS "objectId", before, after
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
