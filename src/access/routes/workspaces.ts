import { Elysia, status } from 'elysia';
import type { Clock } from '../../core/clock.ts';
import { conflict, valueError } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WORKSPACE_EXAMPLE } from '../examples.ts';
import { isOperator } from '../operators.ts';
import { WorkspaceCreate, WorkspacePage, WorkspaceRead } from '../schema.ts';
import type { Workspace, WorkspaceStore } from '../store/workspaces.ts';
import { isReservedWorkspaceName, isWorkspaceName } from '../workspace-names.ts';

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
