import type { Transaction } from '../infra/postgres/client.ts';

/** The columns of the documents table under the names of the type Document. */
export const documentColumns = (sql: Transaction) => sql`
  id, workspace_id AS "workspaceId", upload_id AS "uploadId", owner_id AS "ownerId", name,
  object_key AS "objectKey", created_at AS "createdAt", file_size::float8 AS "fileSize", file_type AS "fileType",
  file_hash AS "fileHash", tags, categories, summary, access, slots, curators, status,
  deleted_at AS "deletedAt", archived_at AS "archivedAt"`;
