// The outbox: documents whose last change the mirror may lack. Triggers fill it in the transaction of the change.

import type { Transaction } from '../../../infra/postgres/client.ts';
import type { Document } from '../../document.ts';
import { documentColumns } from '../../rows.ts';

/** A document as it is now; without one it is gone. */
export type Change = { id: string; workspaceId: string; sequence: number; document: Document | undefined };

type Backlog = {
  /** Documents that wait to be sent, and for how long the first of them has waited. */
  waiting: number;
  lagSeconds: number;
  /** The places of the first and the last of them in the order of change; a document that changes again moves to the end. */
  first: number | null;
  last: number | null;
  /** Documents that the search server does not take. */
  refused: number;
};

export const NO_BACKLOG: Backlog = { waiting: 0, lagSeconds: 0, first: null, last: null, refused: 0 };

export function createOutbox(sql: Transaction) {
  /** About what a record takes when sent, without reading what is stored apart and compressed. */
  const bytes = sql`coalesce(octet_length(summary), 0) + 4 * (coalesce(pg_column_size(access), 0)
    + coalesce(pg_column_size(slots), 0) + coalesce(pg_column_size(tags), 0) + coalesce(pg_column_size(categories), 0))`;

  return {
    /** What waits, in order of change, and the documents as the same snapshot shows them. At least one, if any. */
    async take(limits: { documentsMax: number; bytesMax: number }): Promise<Change[]> {
      const rows = await sql<(Document & { queuedId: string; queuedIn: string; sequence: number })[]>`
        WITH queued AS MATERIALIZED (
          SELECT document_id, workspace_id, sequence FROM search_outbox
          WHERE refusal IS NULL ORDER BY sequence LIMIT ${limits.documentsMax}),
        sized AS MATERIALIZED (
          SELECT queued.document_id, queued.workspace_id, sequence,
            sum(coalesce(${bytes}, 0)) OVER (ORDER BY sequence) - coalesce(${bytes}, 0) AS bytes_before
          FROM queued LEFT JOIN documents d ON d.id = document_id)
        SELECT document_id AS "queuedId", sized.workspace_id AS "queuedIn", sequence, document.*
        FROM sized LEFT JOIN LATERAL (
          SELECT ${documentColumns(sql)} FROM documents WHERE id = document_id) document ON true
        WHERE bytes_before < ${limits.bytesMax} ORDER BY sequence`;
      return rows.map(({ queuedId, queuedIn, sequence, ...document }) => ({
        id: queuedId,
        workspaceId: queuedIn,
        sequence,
        document: document.id === null ? undefined : document,
      }));
    },

    /**
     * Removes what was sent, unless it has changed since. What a writer has locked stays too: it is about to change,
     * and waiting for it could end in a circle.
     */
    async acknowledge(sent: readonly Pick<Change, 'id' | 'sequence'>[]): Promise<void> {
      await sql`
        WITH sent AS MATERIALIZED (
          SELECT document_id FROM search_outbox
          JOIN unnest(${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ sequence }) => sequence)}::bigint[])
            AS done (id, number)
            ON document_id = id AND sequence = number
          FOR UPDATE OF search_outbox SKIP LOCKED)
        DELETE FROM search_outbox USING sent WHERE search_outbox.document_id = sent.document_id`;
    },

    /** Keeps a document back until it changes again. One that has changed since it was sent is left alone. */
    async refuse({ id, sequence }: Pick<Change, 'id' | 'sequence'>, reason: string): Promise<void> {
      await sql`UPDATE search_outbox SET refusal = ${reason} WHERE document_id = ${id} AND sequence = ${sequence}`;
    },

    /** As if these documents had just changed. */
    async add(documents: readonly Pick<Change, 'id' | 'workspaceId'>[]): Promise<void> {
      const ids = documents.map(({ id }) => id);
      const workspaces = documents.map(({ workspaceId }) => workspaceId);
      await sql`SELECT search_outbox_add(${ids}::uuid[], ${workspaces}::text[])`;
    },

    async backlog(): Promise<Backlog> {
      const [row] = await sql<Backlog[]>`
        SELECT count(*) FILTER (WHERE refusal IS NULL)::int AS waiting, count(refusal)::int AS refused,
          min(sequence) FILTER (WHERE refusal IS NULL) AS first, max(sequence) FILTER (WHERE refusal IS NULL) AS last,
          coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - queued_at)) FROM search_outbox
            WHERE refusal IS NULL ORDER BY sequence LIMIT 1), 0)::float8 AS "lagSeconds"
        FROM search_outbox`;
      return row ?? NO_BACKLOG;
    },

    /** Removes what waits, except what a writer has locked: it does no harm, and waiting for it could end in a circle. */
    async clear(): Promise<void> {
      await sql`
        DELETE FROM search_outbox WHERE document_id IN (
          SELECT document_id FROM search_outbox FOR UPDATE SKIP LOCKED)`;
    },
  };
}
