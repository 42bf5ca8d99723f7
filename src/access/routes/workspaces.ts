import { Type } from '@sinclair/typebox';
import { type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
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
        responses: withErrors(
          {
            200: {
              description: 'A page of workspaces.',
              schema: WorkspacePage,
              example: { items: [WORKSPACE_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 422, 503],
        ),
      },
      async ({ principal, query }) =>
        reply(200, await workspaces.list(principal, toPageRequest(query, isWorkspaceName))),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-workspace',
        method: 'POST',
        path: '/admin/api/workspaces',
        scope: 'operator',
        summary: 'Create a workspace',
        query: Type.Object({}),
        body: WorkspaceCreate,
        bodyExample: { id: WORKSPACE_EXAMPLE.id, name: WORKSPACE_EXAMPLE.name },
        responses: withErrors(
          { 201: { description: 'The workspace.', schema: WorkspaceRead, example: WORKSPACE_EXAMPLE } },
          [401, 403, 409, 413, 415, 422, 503],
        ),
      },
      async ({ body }) => reply(201, await workspaces.create(body)),
    ),
  ];
}
