import type { Static } from '@sinclair/typebox';
import { Elysia, status } from 'elysia';
import type { Clock } from '../core/clock.ts';
import { toEmailKey } from '../core/email.ts';
import { conflict, notFound } from '../core/errors.ts';
import { isUuid, newId } from '../core/ids.ts';
import type { Http } from '../http/http.ts';
import { answer, json, parameters, refusals } from '../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../http/paging.ts';
import { WorkspacePath } from '../http/schemas.ts';
import type { Commits } from './authentication.ts';
import { isOperator, operatorsOnly } from './changes.ts';
import { USER_EXAMPLE } from './examples.ts';
import { UserCreate, UserPage, UserPatch, UserPath, UserRead } from './schema.ts';
import type { User, UserReference, UserStore } from './store/users.ts';
import type { WorkspaceStore } from './workspaces.ts';

type UsersDeps = { store: UserStore; workspaces: WorkspaceStore; commits: Commits; clock: Clock };

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' } } as const;
const ITEM = { ...ADMINISTRATION, work: 'exempt', params: parameters(UserPath) } as const;
const OF_OPERATORS = 'Only operators change a person who has a key with the scope `operator`.';
const USER = { schema: UserRead, example: USER_EXAMPLE };

const toReference = (params: Static<typeof UserPath>): UserReference => ({
  workspaceId: params.workspace_id,
  userId: params.user_id,
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
export function userRoutes({ plugin }: Http, { store, workspaces, commits, clock }: UsersDeps) {
  return new Elysia({
    name: 'access.users',
    prefix: '/admin/api/workspaces/:workspace_id/users',
    tags: ['access'],
  })
    .use(plugin)
    .get(
      '',
      async ({ params, query }) => {
        const page = toPageRequest(query, isUuid);
        await workspaces.require(params.workspace_id);
        return toPage(await store.list(params.workspace_id, page), page.limit, render);
      },
      {
        ...ADMINISTRATION,
        params: parameters(WorkspacePath),
        query: parameters(PageQuery),
        response: { ...pageAnswer('A page of users.', UserPage, USER_EXAMPLE), ...refusals(404) },
        detail: { operationId: 'access.list-users', summary: 'List the people of a workspace, newest first' },
      },
    )
    .post(
      '',
      async ({ author, params, body: { email, name = null } }) => {
        await workspaces.require(params.workspace_id);
        const user = { id: newId(), email: toEmailKey(email), name, createdAt: clock.now() };
        const made = await store.insert(params.workspace_id, user, author);
        if (made === undefined) throw emailTaken();
        commits.follow();
        return status(201, render(made));
      },
      {
        ...ADMINISTRATION,
        events: ['auth.user.create'],
        audits: ['access.create-user'],
        params: parameters(WorkspacePath),
        body: json(UserCreate, { example: { email: USER_EXAMPLE.email, name: USER_EXAMPLE.name } }),
        response: { 201: answer({ description: 'The user.', ...USER }), ...refusals(404, 409) },
        detail: { operationId: 'access.create-user', summary: 'Add a person to a workspace' },
      },
    )
    .patch(
      '/:user_id',
      async ({ principal, author, params, body: { email, name } }) => {
        const changes = {
          ...(email === undefined ? {} : { email: toEmailKey(email) }),
          ...(name === undefined ? {} : { name }),
        };
        const spareOperators = !isOperator(principal);
        const outcome = await store.update(toReference(params), changes, { author, spareOperators });
        if (outcome === 'operator') throw operatorsOnly();
        if (outcome === 'email taken') throw emailTaken();
        if (outcome === undefined) throw userNotFound();
        commits.follow(outcome.keyHashes);
        return render(outcome.user);
      },
      {
        ...ITEM,
        events: ['auth.user.update'],
        audits: ['access.update-user'],
        body: json(UserPatch, { example: { name: USER_EXAMPLE.name } }),
        response: { 200: answer({ description: 'The changed user.', ...USER }), ...refusals(404, 409) },
        detail: {
          operationId: 'access.update-user',
          summary: "Change a person's e-mail or name",
          description: `Fields that the body does not name stay as they are; a name of null clears it. ${OF_OPERATORS}`,
        },
      },
    )
    .delete(
      '/:user_id',
      async ({ principal, author, params }) => {
        const spareOperators = !isOperator(principal);
        const deleted = await store.delete(toReference(params), { author, spareOperators });
        if (deleted === 'operator') throw operatorsOnly();
        if (deleted === undefined) throw userNotFound();
        commits.follow(deleted.keyHashes);
      },
      {
        ...ITEM,
        events: ['auth.user.delete'],
        audits: ['access.delete-user', 'access.revoke-key'],
        response: { 204: answer({ description: 'Deleted; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'access.delete-user',
          summary: 'Delete a person and revoke their keys',
          description: OF_OPERATORS,
        },
      },
    );
}
