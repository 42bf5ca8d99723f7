// Documents are deleted for good: with what is kept of their contents, with a job for each object, and a row of the audit
// log for each document, all or nothing.

import type { Author } from '../core/author.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Fragment, Sql } from '../infra/postgres/client.ts';
import { enqueue } from '../infra/postgres/job-queue.ts';
import { PURGE_PASSAGES_MAX } from './limits.ts';

/** The queue kind of objects that wait for their deletion; its payload is `{ key }`. */
export const OBJECT_DELETION = 'documents.delete-object';

/** The lease of a backup: as long as it is held no object is deleted, because documents of its moment may have it. */
export const BACKUP_LOCK = 'backup';

/** The keys of the objects that documents have, for a backup. */
export const OBJECT_KEYS = 'SELECT object_key FROM documents';

/** Tables that the service makes anew from others, where the database has what they need: they are not copied. */
export const REBUILT_TABLES: readonly string[] = ['document_vector_graphs', 'document_graph_vectors'];

/** Documents that one statement has purged, and whether there are others. */
export type Purged = { ids: string[]; more: boolean };

export function createPurging(sql: Sql) {
  const audit = (author: Author) =>
    audited(sql, author, {
      action: 'documents.purge',
      workspace: sql`workspace_id`,
      kind: 'document',
      id: sql`id`,
      before: sql`jsonb_build_object('name', name, 'owner_id', owner_id, 'status', status_before_bin,
        'file_size', file_size, 'file_hash', file_hash, 'created_at', created_at, 'deleted_at', deleted_at)`,
    });
  /** One statement deletes rows, queues their objects, and writes a row of the audit log for each. */
  const purgeWhere = async (
    condition: Fragment,
    author: Author,
    { ctes, considered }: { ctes: Fragment; considered: Fragment } = { ctes: sql``, considered: sql`0` },
  ): Promise<{ id: string; considered: number }[]> =>
    sql<{ id: string; considered: number }[]>`
      WITH ${ctes} gone AS (DELETE FROM documents WHERE deleted_at IS NOT NULL AND ${condition}
        RETURNING id, workspace_id, object_key, name, owner_id, status_before_bin, file_size, file_hash, created_at, deleted_at),
      queued AS (${enqueue(sql, OBJECT_DELETION, sql`SELECT jsonb_build_object('key', object_key) FROM gone`)})
      SELECT id, ${considered} AS considered, ${audit(author)} FROM gone`;

  /**
   * Locked in one order, so that two who empty one bin wait for each other and never in a circle. Fewer where they have
   * many passages, which are deleted with them.
   */
  const purgeFirst = async (condition: Fragment, limit: number, author: Author): Promise<Purged> => {
    const ctes = sql`binned AS MATERIALIZED (
        SELECT id, deleted_at FROM documents WHERE deleted_at IS NOT NULL AND ${condition}
        ORDER BY deleted_at, id LIMIT ${limit} FOR UPDATE),
      weighed AS (
        SELECT id, coalesce(sum(passages) OVER (ORDER BY deleted_at, id ROWS BETWEEN UNBOUNDED PRECEDING
          AND 1 PRECEDING), 0) AS passages_before
        FROM binned LEFT JOIN document_contents ON document_id = id),`;
    const rows = await purgeWhere(
      sql`id IN (SELECT id FROM weighed WHERE passages_before < ${PURGE_PASSAGES_MAX})`,
      author,
      { ctes, considered: sql`(SELECT count(*)::int FROM binned)` },
    );
    const considered = rows[0]?.considered ?? 0;
    return { ids: rows.map(({ id }) => id), more: considered === limit || rows.length < considered };
  };

  return { purgeWhere, purgeFirst };
}
