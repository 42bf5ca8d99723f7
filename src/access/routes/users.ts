import { toEmailKey } from '../../core/email.ts';
import { conflict, notFound } from '../../core/errors.ts';
import { isUuid, newId } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { USER_EXAMPLE } from '../examples.ts';
import type { Administration } from '../keys.ts';
import { isOperator, operatorsOnly } from '../operators.ts';
import { UserCreate, UserPage, UserPatch, UserPath, UserRead } from '../schema.ts';
import type { User, UserReference, UserStore } from '../store/users.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/users';
const ITEM = { ...ADMINISTRATION, path: `${COLLECTION}/{user_id}`, parameters: UserPath } as const;
const OF_OPERATORS = 'Only operators change a person who has a key with the scope `operator`.';
const USER = { schema: UserRead, example: USER_EXAMPLE };

const toReference = (path: { workspace_id: string; user_id: string }): UserReference => ({
  workspaceId: path.workspace_id,
  userId: path.user_id,
});

const emailTaken = () => conflict('The workspace has a user of this e-mail');
const userNotFound = () => notFound('User not found');

const render = ({ id, email, name, createdAt }: User): UserRead => ({
  id,
  email,
  name,
  created_at: createdAt.toISOString(),
});

/** The users of a workspace. E-mails compare in lower case. */
export function userRoutes({
  store,
  requireWorkspace,
  forget,
  wakeMover,
  clock,
}: Administration & { store: UserStore }): Route[] {
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
      async ({ path, query }) => {
        const page = toPageRequest(query, isUuid);
        await requireWorkspace(path.workspace_id);
        return toPage(await store.list(path.workspace_id, page), page.limit, render);
      },
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-user',
        audits: ['access.create-user'],
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
      async ({ author, path, body: { email, name = null } }) => {
        await requireWorkspace(path.workspace_id);
        const user = { id: newId(), email: toEmailKey(email), name, createdAt: clock.now() };
        const made = await store.insert(path.workspace_id, user, author);
        if (made === undefined) throw emailTaken();
        wakeMover();
        return render(made);
      },
    ),
    route(
      {
        ...ITEM,
        id: 'access.update-user',
        work: 'exempt',
        audits: ['access.update-user'],
        events: ['auth.user.update'],
        method: 'PATCH',
        summary: "Change a person's e-mail or name",
        description: `Fields that the body does not name stay as they are; a name of null clears it. ${OF_OPERATORS}`,
        body: UserPatch,
        bodyExample: { name: USER_EXAMPLE.name },
        responses: { 200: { description: 'The changed user.', ...USER } },
        refusals: [404, 409],
      },
      async ({ principal, author, path, body: { email, name } }) => {
        const changes = {
          ...(email === undefined ? {} : { email: toEmailKey(email) }),
          ...(name === undefined ? {} : { name }),
        };
        const spareOperators = !isOperator(principal);
        const outcome = await store.update(toReference(path), changes, { author, spareOperators });
        if (outcome === 'operator') throw operatorsOnly();
        if (outcome === 'email taken') throw emailTaken();
        if (outcome === undefined) throw userNotFound();
        forget(outcome.keyHashes);
        wakeMover();
        return render(outcome.user);
      },
    ),
    route(
      {
        ...ITEM,
        id: 'access.delete-user',
        work: 'exempt',
        audits: ['access.delete-user', 'access.revoke-key'],
        events: ['auth.user.delete'],
        method: 'DELETE',
        summary: 'Delete a person and revoke their keys',
        description: OF_OPERATORS,
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      async ({ principal, author, path }) => {
        const spareOperators = !isOperator(principal);
        const deleted = await store.delete(toReference(path), { author, spareOperators });
        if (deleted === 'operator') throw operatorsOnly();
        if (deleted === undefined) throw userNotFound();
        forget(deleted.keyHashes);
        wakeMover();
      },
    ),
  ];
}
