// Workspaces: the form of their names, the table, and the routes of their administration.

import { Elysia, status } from 'elysia';
import type { Author } from '../core/author.ts';
import type { Clock } from '../core/clock.ts';
import { conflict, notFound, valueError } from '../core/errors.ts';
import type { Http } from '../http/http.ts';
import { answer, json, parameters, refusals } from '../http/input.ts';
import { PageQuery, type PageRequest, pageAnswer, toPage, toPageRequest } from '../http/paging.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Transaction } from '../infra/postgres/client.ts';
import { isOperator } from './changes.ts';
import { WORKSPACE_EXAMPLE } from './examples.ts';
import { WorkspaceCreate, WorkspacePage, WorkspaceRead } from './schema.ts';
import { isReservedWorkspaceName, isWorkspaceName } from './workspace-names.ts';

type Workspace = { id: string; name: string; createdAt: Date };

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
  const exists = async (id: string): Promise<boolean> => {
    const rows = await sql`SELECT 1 FROM workspaces WHERE id = ${id}`;
    return rows.length > 0;
  };
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

    exists,

    /** Throws 404 for a workspace that does not exist. */
    async require(id: string): Promise<void> {
      if (!(await exists(id))) throw notFound('Workspace not found');
    },
  };
}

const render = ({ id, name, createdAt }: Workspace): WorkspaceRead => ({
  id,
  name,
  created_at: createdAt.toISOString(),
});

export function workspaceRoutes({ plugin }: Http, store: WorkspaceStore, clock: Clock) {
  return new Elysia({ name: 'access.workspaces', prefix: '/admin/api/workspaces', tags: ['access'] })
    .use(plugin)
    .get(
      '',
      async ({ principal, query }) => {
        const page = toPageRequest(query, isWorkspaceName);
        const own = isOperator(principal) ? undefined : principal.workspaceId;
        return toPage(await store.list(page, own), page.limit, render);
      },
      {
        key: { in: 'administration', scope: 'admin' },
        query: parameters(PageQuery),
        response: pageAnswer('A page of workspaces.', WorkspacePage, WORKSPACE_EXAMPLE),
        detail: {
          operationId: 'access.list-workspaces',
          summary: 'List workspaces, newest first',
          description: 'Operators see all of them, other administrators their own.',
        },
      },
    )
    .post(
      '',
      async ({ author, body: { id, name } }) => {
        if (isReservedWorkspaceName(id)) throw valueError(['body', 'id'], 'this name is reserved', id);
        const made = await store.insert({ id, name: name ?? id, createdAt: clock.now() }, author);
        if (made === undefined) throw conflict('A workspace of this name exists');
        return status(201, render(made));
      },
      {
        key: { in: 'administration', scope: 'operator' },
        audits: ['access.create-workspace'],
        body: json(WorkspaceCreate, { example: { id: WORKSPACE_EXAMPLE.id, name: WORKSPACE_EXAMPLE.name } }),
        response: {
          201: answer({ description: 'The workspace.', schema: WorkspaceRead, example: WORKSPACE_EXAMPLE }),
          ...refusals(409),
        },
        detail: { operationId: 'access.create-workspace', summary: 'Create a workspace' },
      },
    );
}
