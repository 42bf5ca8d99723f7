import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { KEY_CREATE_EXAMPLE, KEY_CREATED_EXAMPLE, KEY_EXAMPLE } from '../examples.ts';
import type { Keys } from '../keys.ts';
import { KeyCreate, KeyCreated, KeyPage, KeyPatch, KeyPath, KeyRead, KeyRotate } from '../schema.ts';
import type { KeyReference } from '../store/keys.ts';

const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/keys';
const ITEM = { ...ADMINISTRATION, path: `${COLLECTION}/{key_id}`, parameters: KeyPath } as const;

/** No cache, in the browser or on the way, keeps a secret. */
const answerWithKey = (key: object): Response =>
  Response.json(key, { status: 201, headers: { 'cache-control': 'no-store' } });

const toReference = (path: { workspace_id: string; key_id: string }): KeyReference => ({
  workspaceId: path.workspace_id,
  keyId: path.key_id,
});

export function keyRoutes(keys: Keys): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-keys',
        work: 'exempt',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the keys of a workspace that are not revoked, newest first',
        parameters: WorkspacePath,
        query: PageQuery,
        responses: pageAnswer('A page of keys, without the keys themselves.', KeyPage, KEY_EXAMPLE),
        refusals: [404],
      },
      ({ path, query }) => keys.list(path.workspace_id, toPageRequest(query, isUuid)),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.create-key',
        audits: ['access.create-key', 'access.create-user'],
        events: ['auth.user.create'],
        method: 'POST',
        path: COLLECTION,
        summary: 'Create a key',
        description:
          'The key is in this answer and in no other. It acts for the person of `user_email` (who is added to the ' +
          'workspace if need be), or of the e-mail of the caller. Only operators give the scope `operator`, or ' +
          'create keys that act for another operator.',
        parameters: WorkspacePath,
        body: KeyCreate,
        bodyExample: KEY_CREATE_EXAMPLE,
        responses: { 201: { description: 'The key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE } },
        refusals: [404],
      },
      async (input) => answerWithKey(await keys.create(input, input.path.workspace_id, input.body)),
    ),
    route(
      {
        ...ITEM,
        id: 'access.update-key',
        work: 'exempt',
        audits: ['access.update-key'],
        method: 'PATCH',
        summary: 'Rename, disable or enable a key',
        body: KeyPatch,
        bodyExample: { disabled: true },
        responses: { 200: { description: 'The changed key.', schema: KeyRead, example: KEY_EXAMPLE } },
        refusals: [404],
      },
      (input) => keys.update(input, toReference(input.path), input.body),
    ),
    route(
      {
        ...ITEM,
        id: 'access.rotate-key',
        work: 'exempt',
        audits: ['access.rotate-key'],
        method: 'POST',
        path: `${ITEM.path}/rotate`,
        summary: 'Replace a key by a new one with the same name, owner, scopes and limits',
        description:
          'The old key ends at once, unless the body says `{"grace_seconds": n}`. With `expires_at` in the body ' +
          "the new key has that expiry, else the old one's. The body may be absent.",
        body: KeyRotate,
        bodyExample: { grace_seconds: 3600 },
        bodyOptional: true,
        responses: { 201: { description: 'The new key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE } },
        refusals: [404, 409],
      },
      async (input) => answerWithKey(await keys.rotate(input, toReference(input.path), input.body)),
    ),
    route(
      {
        ...ITEM,
        id: 'access.revoke-key',
        work: 'exempt',
        audits: ['access.revoke-key'],
        method: 'DELETE',
        summary: 'Revoke a key',
        description: 'From this answer on no request with the key is accepted.',
        responses: { 204: { description: 'Revoked; no content.' } },
        refusals: [404],
      },
      (input) => keys.revoke(input, toReference(input.path)),
    ),
  ];
}
