import type { Clock } from '../../core/clock.ts';
import { conflict, valueError } from '../../core/errors.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WORKSPACE_EXAMPLE } from '../examples.ts';
import { isOperator } from '../operators.ts';
import { WorkspaceCreate, WorkspacePage, WorkspaceRead } from '../schema.ts';
import type { Workspace, WorkspaceStore } from '../store/workspaces.ts';
import { isReservedWorkspaceName, isWorkspaceName } from '../workspace-names.ts';

const WORKSPACES = { area: 'access', credential: 'administration', path: '/admin/api/workspaces' } as const;

const render = ({ id, name, createdAt }: Workspace): WorkspaceRead => ({
  id,
  name,
  created_at: createdAt.toISOString(),
});

export function workspaceRoutes(store: WorkspaceStore, clock: Clock): Route[] {
  return [
    route(
      {
        ...WORKSPACES,
        id: 'access.list-workspaces',
        method: 'GET',
        scope: 'admin',
        summary: 'List workspaces, newest first',
        description: 'Operators see all of them, other administrators their own.',
        query: PageQuery,
        responses: pageAnswer('A page of workspaces.', WorkspacePage, WORKSPACE_EXAMPLE),
      },
      async ({ principal, query }) => {
        const page = toPageRequest(query, isWorkspaceName);
        const own = isOperator(principal) ? undefined : principal.workspaceId;
        return toPage(await store.list(page, own), page.limit, render);
      },
    ),
    route(
      {
        ...WORKSPACES,
        id: 'access.create-workspace',
        audits: ['access.create-workspace'],
        method: 'POST',
        scope: 'operator',
        summary: 'Create a workspace',
        body: WorkspaceCreate,
        bodyExample: { id: WORKSPACE_EXAMPLE.id, name: WORKSPACE_EXAMPLE.name },
        responses: {
          201: { description: 'The workspace.', schema: WorkspaceRead, example: WORKSPACE_EXAMPLE },
        },
        refusals: [409],
      },
      async ({ author, body: { id, name } }) => {
        if (isReservedWorkspaceName(id)) throw valueError(['body', 'id'], 'this name is reserved', id);
        const made = await store.insert({ id, name: name ?? id, createdAt: clock.now() }, author);
        if (made === undefined) throw conflict('A workspace of this name exists');
        return render(made);
      },
    ),
  ];
}
