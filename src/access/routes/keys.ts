import { Type } from '@sinclair/typebox';
import { isUuid } from '../../core/ids.ts';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
import { KEY_CREATE_EXAMPLE, KEY_CREATED_EXAMPLE, KEY_EXAMPLE } from '../examples.ts';
import type { Keys } from '../keys.ts';
import {
  KeyCreate,
  KeyCreated,
  KeyPage,
  KeyPatch,
  KeyPath,
  KeyRead,
  KeyRotate,
  WorkspacePath,
} from '../schema.ts';
import type { Workspaces } from '../workspaces.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/keys';
const ITEM = `${COLLECTION}/{key_id}`;

export type KeyRoutesDeps = { keys: Keys; requireWorkspace: Workspaces['requireExisting'] };

export function keyRoutes({ keys, requireWorkspace }: KeyRoutesDeps): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-keys',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the keys of a workspace that are not revoked, newest first',
        parameters: WorkspacePath,
        query: PageQuery,
        responses: withErrors(
          {
            200: {
              description: 'A page of keys, without the keys themselves.',
              schema: KeyPage,
              example: { items: [KEY_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ path, query }) => {
        const page = toPageRequest(query, isUuid);
        await requireWorkspace(path.workspace_id);
        return reply(200, await keys.list(path.workspace_id, page));
      },
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-key',
        events: ['auth.user.create'],
        method: 'POST',
        path: COLLECTION,
        summary: 'Create a key',
        description:
          'The key is in this answer and in no other. It acts for the person of `user_email` (who is added to the ' +
          'workspace if need be), or of the e-mail of whoever creates it. Only operators give the scope `operator`, or ' +
          'create keys that act for another operator.',
        parameters: WorkspacePath,
        query: Type.Object({}),
        body: KeyCreate,
        bodyExample: KEY_CREATE_EXAMPLE,
        responses: withErrors(
          { 201: { description: 'The key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) => {
        await requireWorkspace(path.workspace_id);
        return reply(201, await keys.create(principal, path.workspace_id, body), NOT_STORED);
      },
    ),
    ...keyItemRoutes(keys),
  ];
}

/** No cache, in the browser or on the way, keeps a secret. */
const NOT_STORED = { 'cache-control': 'no-store' };

function keyItemRoutes(keys: Keys): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.update-key',
        method: 'PATCH',
        path: ITEM,
        summary: 'Rename, disable or enable a key',
        parameters: KeyPath,
        query: Type.Object({}),
        body: KeyPatch,
        bodyExample: { disabled: true },
        responses: withErrors(
          { 200: { description: 'The changed key.', schema: KeyRead, example: KEY_EXAMPLE } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) =>
        reply(
          200,
          await keys.update(principal, { workspaceId: path.workspace_id, keyId: path.key_id }, body),
        ),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.rotate-key',
        method: 'POST',
        path: `${ITEM}/rotate`,
        summary: 'Replace a key by a new one with the same name, owner, scopes and limits',
        description:
          'The old key ends at once, unless the body says `{"grace_seconds": n}`. With `expires_at` in the body ' +
          "the new key has that expiry, else the old one's. The body may be absent.",
        parameters: KeyPath,
        query: Type.Object({}),
        body: KeyRotate,
        bodyExample: { grace_seconds: 3600 },
        bodyOptional: true,
        responses: withErrors(
          { 201: { description: 'The new key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE } },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) => {
        const reference = { workspaceId: path.workspace_id, keyId: path.key_id };
        return reply(201, await keys.rotate(principal, reference, body), NOT_STORED);
      },
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.revoke-key',
        method: 'DELETE',
        path: ITEM,
        summary: 'Revoke a key',
        description: 'From this answer on no request with the key is accepted.',
        parameters: KeyPath,
        query: Type.Object({}),
        responses: withErrors({ 204: { description: 'Revoked; no content.' } }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => {
        await keys.revoke(principal, { workspaceId: path.workspace_id, keyId: path.key_id });
        return noContent();
      },
    ),
  ];
}
