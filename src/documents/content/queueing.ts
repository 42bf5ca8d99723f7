// The jobs that read documents, as the statements queue them that ask for it.

import type { Sql } from '../../infra/postgres/client.ts';
import { enqueue } from '../../infra/postgres/job-queue.ts';

/**
 * The queue kinds of documents that are to be read: new ones, those that were there before, and those of both whose first reading
 * took long; payload `{ document, workspace }`.
 */
export const READING = 'documents.read-content';
export const EARLIER_READING = 'documents.read-earlier-content';
export const SLOW_READING = 'documents.read-slow-content';

/** Rows for new documents; to be put into the statement that inserts them as `inserted`, of which `fresh` ones are new. */
export const contentsOfInserted = (sql: Sql, reading: 'on' | 'off') =>
  reading === 'off'
    ? sql`unread AS (
        INSERT INTO document_contents (document_id, workspace_id, state)
        SELECT id, workspace_id, 'off' FROM inserted WHERE fresh),`
    : sql`unread AS (
        INSERT INTO document_contents (document_id, workspace_id, state)
        SELECT id, workspace_id, 'pending' FROM inserted WHERE fresh RETURNING document_id, workspace_id),
      to_read AS (${enqueueReadings(sql, READING, sql`unread`)}),`;

/** Queues a job for each row of `documents`; those of each workspace are begun in turn. */
export const enqueueReadings = (sql: Sql, kind: string, documents: ReturnType<Sql['unsafe']>) =>
  enqueue(
    sql,
    kind,
    sql`SELECT jsonb_build_object('document', document_id, 'workspace', workspace_id) FROM ${documents}`,
  );
