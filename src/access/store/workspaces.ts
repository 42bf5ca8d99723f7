import type { Author } from '../../core/author.ts';
import type { PageRequest } from '../../http/paging.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

export type Workspace = { id: string; name: string; createdAt: Date };

export type WorkspaceStore = ReturnType<typeof createWorkspaceStore>;

/** Every service that has been used has one. */
export async function hasWorkspaces(sql: Transaction): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`SELECT EXISTS (SELECT FROM workspaces) AS found`;
  return row?.found === true;
}

export function createWorkspaceStore(sql: Transaction) {
  const columns = sql`id, name, created_at AS "createdAt"`;
  const audit = (author: Author) =>
    audited(sql, author, {
      action: 'access.create-workspace',
      workspace: sql`id`,
      kind: 'workspace',
      id: sql`id`,
      after: sql`jsonb_build_object('name', name)`,
    });
  return {
    /** Newest first, one row more than the limit where others follow; `id`: that workspace alone. */
    list({ limit, after }: PageRequest, id?: string): Promise<Workspace[]> {
      return sql<Workspace[]>`
        SELECT ${columns} FROM workspaces
        WHERE ${id === undefined ? sql`true` : sql`id = ${id}`}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    /** Undefined when the name is taken. */
    async insert({ id, name, createdAt }: Workspace, author: Author): Promise<Workspace | undefined> {
      const [row] = await sql<Workspace[]>`
        INSERT INTO workspaces (id, name, created_at) VALUES (${id}, ${name}, ${createdAt})
        ON CONFLICT (id) DO NOTHING RETURNING ${columns}, ${audit(author)}`;
      return row;
    },

    async exists(id: string): Promise<boolean> {
      const rows = await sql`SELECT 1 FROM workspaces WHERE id = ${id}`;
      return rows.length > 0;
    },
  };
}
