import { Type } from '@sinclair/typebox';
import { isUuid } from '../../core/ids.ts';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
import { USER_EXAMPLE } from '../examples.ts';
import { UserCreate, UserPage, UserPatch, UserPath, UserRead, WorkspacePath } from '../schema.ts';
import type { Users } from '../users.ts';
import type { Workspaces } from '../workspaces.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/users';
const ITEM = `${COLLECTION}/{user_id}`;
const OF_OPERATORS = 'Only operators change a person who has a key with the scope `operator`.';
const USER = { schema: UserRead, example: USER_EXAMPLE };

export type UserRoutesDeps = { users: Users; requireWorkspace: Workspaces['requireExisting'] };

export function userRoutes({ users, requireWorkspace }: UserRoutesDeps): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-users',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the people of a workspace, newest first',
        parameters: WorkspacePath,
        query: PageQuery,
        responses: withErrors(
          {
            200: {
              description: 'A page of users.',
              schema: UserPage,
              example: { items: [USER_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ path, query }) => {
        const page = toPageRequest(query, isUuid);
        await requireWorkspace(path.workspace_id);
        return reply(200, await users.list(path.workspace_id, page));
      },
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-user',
        events: ['auth.user.create'],
        method: 'POST',
        path: COLLECTION,
        summary: 'Add a person to a workspace',
        parameters: WorkspacePath,
        query: Type.Object({}),
        body: UserCreate,
        bodyExample: { email: USER_EXAMPLE.email, name: USER_EXAMPLE.name },
        responses: withErrors(
          { 201: { description: 'The user.', ...USER } },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ path, body }) => {
        await requireWorkspace(path.workspace_id);
        return reply(201, await users.create(path.workspace_id, body));
      },
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.update-user',
        events: ['auth.user.update'],
        method: 'PATCH',
        path: ITEM,
        summary: "Change a person's e-mail or name",
        description: `Fields that the body does not name stay as they are; a name of null clears it. ${OF_OPERATORS}`,
        parameters: UserPath,
        query: Type.Object({}),
        body: UserPatch,
        bodyExample: { name: USER_EXAMPLE.name },
        responses: withErrors(
          { 200: { description: 'The changed user.', ...USER } },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) =>
        reply(
          200,
          await users.update(principal, { workspaceId: path.workspace_id, userId: path.user_id }, body),
        ),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.delete-user',
        events: ['auth.user.delete'],
        method: 'DELETE',
        path: ITEM,
        summary: 'Delete a person and revoke their keys',
        description: OF_OPERATORS,
        parameters: UserPath,
        query: Type.Object({}),
        responses: withErrors({ 204: { description: 'Deleted; no content.' } }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => {
        await users.delete(principal, { workspaceId: path.workspace_id, userId: path.user_id });
        return noContent();
      },
    ),
  ];
}
