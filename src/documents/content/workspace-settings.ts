// Whether the files of a workspace are read.

import type { Author } from '../../core/author.ts';
import { codeOf } from '../../core/errors.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Sql } from '../../infra/postgres/client.ts';

/** PostgreSQL's error codes, appendix A of its manual. */
const FOREIGN_KEY_VIOLATION = '23503';

export type WorkspaceSettings = ReturnType<typeof createWorkspaceSettings>;

export function createWorkspaceSettings(sql: Sql) {
  const readsFiles = async (workspaceId: string): Promise<boolean> => {
    const [row] = await sql<{ reads: boolean }[]>`
      SELECT reads_files AS reads FROM document_settings WHERE workspace_id = ${workspaceId}`;
    return row?.reads ?? true;
  };
  return {
    readsFiles,
    /** False where there is no such workspace. */
    async setReadsFiles(workspaceId: string, reads: boolean, author: Author): Promise<boolean> {
      const state = sql`jsonb_build_object('reading', CASE WHEN reads_files THEN 'on' ELSE 'off' END)`;
      const audit = audited(sql, author, {
        action: 'documents.put-content-settings',
        workspace: sql`workspace_id`,
        kind: 'content-settings',
        id: null,
        before: sql`(SELECT ${state} FROM document_settings WHERE workspace_id = ${workspaceId})`,
        after: state,
      });
      try {
        await sql`
          INSERT INTO document_settings (workspace_id, reads_files) VALUES (${workspaceId}, ${reads})
          ON CONFLICT (workspace_id) DO UPDATE SET reads_files = excluded.reads_files
          RETURNING ${audit}`;
        return true;
      } catch (error) {
        if (codeOf(error) === FOREIGN_KEY_VIOLATION) return false;
        throw error;
      }
    },
  };
}
