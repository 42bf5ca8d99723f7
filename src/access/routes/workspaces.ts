import { Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WORKSPACE_EXAMPLE } from '../examples.ts';
import { WorkspaceCreate, WorkspacePage, WorkspaceRead } from '../schema.ts';
import { isWorkspaceName } from '../workspace-names.ts';
import type { Workspaces } from '../workspaces.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', parameters: Type.Object({}) } as const;

export function workspaceRoutes(workspaces: Workspaces): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-workspaces',
        method: 'GET',
        path: '/admin/api/workspaces',
        scope: 'admin',
        summary: 'List workspaces, newest first',
        description: 'Operators see all of them, other administrators their own.',
        query: PageQuery,
        responses: pageAnswer('A page of workspaces.', WorkspacePage, WORKSPACE_EXAMPLE),
      },
      ({ principal, query }) => workspaces.list(principal, toPageRequest(query, isWorkspaceName)),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-workspace',
        method: 'POST',
        path: '/admin/api/workspaces',
        scope: 'operator',
        summary: 'Create a workspace',
        body: WorkspaceCreate,
        bodyExample: { id: WORKSPACE_EXAMPLE.id, name: WORKSPACE_EXAMPLE.name },
        responses: {
          201: { description: 'The workspace.', schema: WorkspaceRead, example: WORKSPACE_EXAMPLE },
        },
        refusals: [409],
      },
      ({ body }) => workspaces.create(body),
    ),
  ];
}
