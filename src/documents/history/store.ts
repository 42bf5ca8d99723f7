// The history of a document: who did what with it, when, and from where. The upload stands in the document's own row; each
// other change adds a row in its own statement.

import type { Author } from '../../core/author.ts';
import type { PageRequest } from '../../http/paging.ts';
import type { Fragment, Sql, Transaction } from '../../infra/postgres/client.ts';
import { changedNames, type Document, type DocumentChanges } from '../document.ts';
import { HISTORY_VALUE_LENGTH_MAX } from '../limits.ts';

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
  /** Of an upload: the user who owned the document first. */
  ownerId: string | null;
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

export function createHistoryStore(sql: Sql) {
  return {
    /** Newest first, one row more than the limit where others follow; the last is the upload. */
    list(documentId: string, { limit, after }: PageRequest): Promise<HistoryRow[]> {
      const behind =
        after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id}::bigint)`;
      return sql<HistoryRow[]>`
        (SELECT id::float8 AS id, created_at AS "createdAt", action, actor, via, key_id AS "keyId", address, changes, NULL::uuid AS "ownerId"
        FROM document_history WHERE document_id = ${documentId} AND ${behind}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1})
        UNION ALL
        SELECT 0, created_at, 'upload', NULL, NULL, NULL, NULL, NULL, coalesce((
          SELECT (change->>'before')::uuid FROM document_history, jsonb_array_elements(changes) AS change
          WHERE document_id = ${documentId} AND change->>'field' = 'owner_id'
          ORDER BY document_history.created_at, document_history.id LIMIT 1), owner_id)
        FROM (SELECT id AS document, 0 AS id, created_at, owner_id FROM documents WHERE id = ${documentId}) AS uploaded
        WHERE ${behind}
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
