// How rows of the documents table are read: the names of their columns, the rows that a viewer may see, and pages of lists.

import type { PageRequest } from '../http/paging.ts';
import type { Fragment, Transaction } from '../infra/postgres/client.ts';
import type { Document } from './document.ts';
import { LIST_BYTES_MAX } from './limits.ts';
import type { Viewer } from './policy.ts';

/** The columns of the documents table under the names of the type ShownDocument. */
export const shownColumns = (sql: Transaction) => sql`
  id, owner_id AS "ownerId", name, object_key AS "objectKey", created_at AS "createdAt", file_size::float8 AS "fileSize",
  file_type AS "fileType", file_hash AS "fileHash", tags, categories, summary, access, slots, status`;

/** The same, and the others of the type Document. */
export const documentColumns = (sql: Transaction) => sql`${shownColumns(sql)}, workspace_id AS "workspaceId",
  upload_id AS "uploadId", curators, deleted_at AS "deletedAt", archived_at AS "archivedAt"`;

/** Before the first of all documents in order of id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Which of several namesakes is meant: the newest that the operation can act on, else the newest visible. */
export type Preference = 'live' | 'editable' | 'to-archive' | 'to-unarchive';

/** The rules of `policy.ts` for a viewer and a document, as conditions on rows. */
export function createConditions(sql: Transaction) {
  const administered = (viewer: Viewer) => (viewer.admin ? sql`true` : sql`owner_id = ${viewer.userId}`);
  const edited = (viewer: Viewer) =>
    viewer.admin ? sql`true` : sql`(owner_id = ${viewer.userId} OR ${viewer.email} = ANY (curators))`;
  const visible = (viewer: Viewer) =>
    viewer.admin
      ? sql`true`
      : sql`(owner_id = ${viewer.userId}
             OR (deleted_at IS NULL AND (status = 'public' OR ${viewer.email} = ANY (curators))))`;
  const preferred = (preference: Preference, viewer: Viewer) =>
    ({
      live: () => sql`deleted_at IS NULL`,
      editable: () => sql`deleted_at IS NULL AND ${edited(viewer)}`,
      'to-archive': () => sql`deleted_at IS NULL AND archived_at IS NULL AND ${edited(viewer)}`,
      'to-unarchive': () => sql`deleted_at IS NULL AND archived_at IS NOT NULL AND ${edited(viewer)}`,
    })[preference]();
  return { administered, edited, visible, preferred };
}

/** One page of the bin or the archive, and how many documents there are on all pages. */
export type ListedDocuments = { documents: Document[]; count: number; more: boolean };

/** The documents that fulfil the condition, by a column of time, newest first: up to a limit of rows and of bytes. */
export async function readList(
  sql: Transaction,
  { limit, after }: PageRequest,
  order: Fragment,
  condition: Fragment,
): Promise<ListedDocuments> {
  /** About the size of a record's free-form part in an answer. */
  const bytes = sql`(length(coalesce(summary, '')) + length(coalesce(access::text, ''))
    + length(coalesce(slots::text, '')) + length(coalesce(tags::text, '')) + length(coalesce(categories::text, '')))`;
  const behind = after === undefined ? sql`true` : sql`(${order}, id) < (${after.createdAt}, ${after.id})`;
  const rows = await sql<(Document & { total: number; following: number })[]>`
    WITH page AS (
      SELECT *, sum(${bytes}) OVER (ORDER BY ${order} DESC, id DESC) - ${bytes} AS bytes_before
      FROM documents WHERE ${condition} AND ${behind} ORDER BY ${order} DESC, id DESC LIMIT ${limit + 1}
    )
    SELECT ${documentColumns(sql)}, (SELECT count(*)::int FROM documents WHERE ${condition}) AS total,
      (SELECT count(*)::int FROM page) AS following
    FROM page WHERE bytes_before < ${LIST_BYTES_MAX} ORDER BY ${order} DESC, id DESC LIMIT ${limit}`;
  const count = rows[0]?.total ?? (after === undefined ? 0 : await countWhere(sql, condition));
  return { documents: rows, count, more: (rows[0]?.following ?? 0) > rows.length };
}

async function countWhere(sql: Transaction, condition: Fragment): Promise<number> {
  const rows = await sql<{ count: number }[]>`SELECT count(*)::int FROM documents WHERE ${condition}`;
  return rows[0]?.count ?? 0;
}
