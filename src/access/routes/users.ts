import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { USER_EXAMPLE } from '../examples.ts';
import { UserCreate, UserPage, UserPatch, UserPath, UserRead } from '../schema.ts';
import type { UserReference } from '../store/users.ts';
import type { Users } from '../users.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/users';
const ITEM = `${COLLECTION}/{user_id}`;
const OF_OPERATORS = 'Only operators change a person who has a key with the scope `operator`.';
const USER = { schema: UserRead, example: USER_EXAMPLE };

const toReference = (path: { workspace_id: string; user_id: string }): UserReference => ({
  workspaceId: path.workspace_id,
  userId: path.user_id,
});

export function userRoutes(users: Users): Route[] {
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
        responses: pageAnswer('A page of users.', UserPage, USER_EXAMPLE),
        refusals: [404],
      },
      ({ path, query }) => users.list(path.workspace_id, toPageRequest(query, isUuid)),
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
        body: UserCreate,
        bodyExample: { email: USER_EXAMPLE.email, name: USER_EXAMPLE.name },
        responses: { 201: { description: 'The user.', ...USER } },
        refusals: [404, 409],
      },
      ({ path, body }) => users.create(path.workspace_id, body),
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
        body: UserPatch,
        bodyExample: { name: USER_EXAMPLE.name },
        responses: { 200: { description: 'The changed user.', ...USER } },
        refusals: [404, 409],
      },
      ({ principal, path, body }) => users.update(principal, toReference(path), body),
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
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      ({ principal, path }) => users.delete(principal, toReference(path)),
    ),
  ];
}
