// The history of a document: who did what with it, when, and from where. The upload stands in the document's own row; each
// other change adds a row in its own statement.

import type { Author } from '../../core/author.ts';
import type { PageRequest } from '../../http/paging.ts';
import type { Fragment, Sql, Transaction } from '../../infra/postgres/client.ts';
import { changedNames, type Document, type DocumentChanges } from '../document.ts';
import { HISTORY_VALUE_LENGTH_MAX } from '../limits.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';

export const ACTIONS = ['upload', 'update', 'archive', 'unarchive', 'bin', 'restore', 'content'] as const;
type Action = (typeof ACTIONS)[number];

/** A field that was changed; the values are null where they are long, or were not set. */
export type FieldChange = { field: string; before: string | null; after: string | null };

export type HistoryRow = {
  id: number;
  createdAt: Date;
  action: Action;
  /** Null of an upload, which is the document's first owner's. */
  actor: string | null;
  via: string | null;
  keyId: string | null;
  address: string | null;
  changes: readonly FieldChange[] | null;
  /** Of an upload: the user who owned the document first; null where the viewer is not shown who. */
  ownerId: string | null;
  /** The viewer is not shown the values from before this change. */
  becameVisible: boolean;
};

/**
 * A common table expression, with a comma before it, that adds a row for each document that `source`, another one of the
 * statement, returns with its `id`: the change and its row are committed together or not at all. Nothing where `changes` is
 * an empty list: then nothing was changed.
 */
export function noted(
  sql: Transaction,
  {
    author,
    action,
    source,
    changes,
  }: {
    author: Author;
    action: Exclude<Action, 'upload'>;
    source: Fragment;
    changes?: readonly FieldChange[];
  },
): Fragment {
  if (changes?.length === 0) return sql``;
  return sql`,
    noted AS (INSERT INTO document_history (document_id, created_at, action, actor, via, key_id, address, changes)
      SELECT id, clock_timestamp(), ${action}::text, ${author.actor}::text, ${author.via}::text, ${author.keyId}::text,
        ${author.address}::text, ${changes === undefined ? null : sql.json(changes as never)}::jsonb FROM ${source})`;
}

/** The names that fields have in the interface, where they differ; those without short values are absent. */
const SHORT: Partial<Record<keyof DocumentChanges, string>> = {
  name: 'name',
  status: 'status',
  ownerId: 'owner_id',
  tags: 'tags',
  categories: 'categories',
  summary: 'summary',
  fileHash: 'file_hash',
  fileSize: 'file_size',
};

/** The fields of a patch that have another value than before. */
export const changesOf = (before: Document, patch: DocumentChanges): FieldChange[] =>
  changedNames(before, patch).map((name) => {
    const field = SHORT[name];
    if (field === undefined) return { field: name, before: null, after: null };
    return { field, before: shorten(before[name]), after: shorten(patch[name]) };
  });

function shorten(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  // A pair of surrogates that is cut in half is no text that the database takes.
  return text.length <= HISTORY_VALUE_LENGTH_MAX
    ? text
    : `${text.slice(0, HISTORY_VALUE_LENGTH_MAX).toWellFormed()}…`;
}

/** Of a change that made the document public. */
const PUBLISHED = [{ field: 'status', after: 'public' }];

export function createHistoryStore(sql: Sql) {
  const { edited, visible } = createConditions(sql);
  return {
    /**
     * Newest first, one row more than the limit where others follow; the last is the upload. Nothing where the viewer does not see
     * the document at the moment of the statement. The owner, curators and administrators get every row with its values; other
     * readers get those since the document last became visible to them.
     */
    list(viewer: Viewer, documentId: string, { limit, after }: PageRequest): Promise<HistoryRow[]> {
      const behind = (id: Fragment): Fragment =>
        after === undefined
          ? sql`true`
          : sql`(created_at, ${id}) < (${after.createdAt}, ${after.id}::bigint)`;
      // By ids, which the changes of one document have in their order, whatever the clock says.
      return sql<HistoryRow[]>`
        WITH document AS (
          SELECT id AS document, created_at, owner_id, CASE WHEN ${edited(viewer)} THEN 0 ELSE (
            SELECT coalesce(max(h.id), 0) FROM document_history h WHERE h.document_id = documents.id
              AND (h.action = 'restore' OR h.changes @> ${sql.json(PUBLISHED as never)}::jsonb)) END AS visible_from
          FROM documents WHERE id = ${documentId} AND workspace_id = ${viewer.workspaceId} AND ${visible(viewer)})
        (SELECT id::float8 AS id, created_at AS "createdAt", action, actor, via, key_id AS "keyId", address, changes,
          NULL::uuid AS "ownerId", id = (SELECT visible_from FROM document) AS "becameVisible"
        FROM document_history WHERE document_id = ${documentId} AND ${behind(sql`id`)} AND id >= (SELECT visible_from FROM document)
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1})
        UNION ALL
        SELECT 0, uploaded.created_at, 'upload', NULL, NULL, NULL, NULL, NULL,
          CASE WHEN given.by IS NULL THEN owner_id WHEN given.id > visible_from THEN given.by END, false
        FROM (SELECT * FROM document WHERE ${behind(sql`0`)}) AS uploaded LEFT JOIN LATERAL (
          SELECT h.id, (change->>'before')::uuid AS by FROM document_history h, jsonb_array_elements(h.changes) AS change
          WHERE h.document_id = document AND change->>'field' = 'owner_id'
          ORDER BY h.created_at, h.id LIMIT 1) AS given ON true
        ORDER BY "createdAt" DESC, id DESC LIMIT ${limit + 1}`;
    },

    /** Deletes up to `limit` rows from before the time; returns how many. */
    async deleteSome(before: Date, limit: number): Promise<number> {
      const { count } = await sql`
        DELETE FROM document_history WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM document_history WHERE created_at < ${before} LIMIT ${limit}))`;
      return count;
    },
  };
}
