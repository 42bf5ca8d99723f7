import type { Static } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { KEY_CREATE_EXAMPLE, KEY_CREATED_EXAMPLE, KEY_EXAMPLE } from '../examples.ts';
import type { Keys } from '../keys.ts';
import { KeyCreate, KeyCreated, KeyPage, KeyPatch, KeyPath, KeyRead, KeyRotate } from '../schema.ts';
import type { KeyReference } from '../store/keys.ts';

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' } } as const;
const ITEM = { ...ADMINISTRATION, work: 'exempt', params: parameters(KeyPath) } as const;

/** No cache, in the browser or on the way, keeps a secret. */
const answerWithKey = (key: KeyCreated): Response =>
  Response.json(key, { status: 201, headers: { 'cache-control': 'no-store' } });

const toReference = (params: Static<typeof KeyPath>): KeyReference => ({
  workspaceId: params.workspace_id,
  keyId: params.key_id,
});

export function keyRoutes({ plugin }: Http, keys: Keys) {
  return new Elysia({
    name: 'access.keys',
    prefix: '/admin/api/workspaces/:workspace_id/keys',
    tags: ['access'],
  })
    .use(plugin)
    .get('', ({ params, query }) => keys.list(params.workspace_id, toPageRequest(query, isUuid)), {
      ...ADMINISTRATION,
      work: 'exempt',
      params: parameters(WorkspacePath),
      query: parameters(PageQuery),
      response: {
        ...pageAnswer('A page of keys, without the keys themselves.', KeyPage, KEY_EXAMPLE),
        ...refusals(404),
      },
      detail: {
        operationId: 'access.list-keys',
        summary: 'List the keys of a workspace that are not revoked, newest first',
      },
    })
    .post(
      '',
      async ({ principal, author, params, body }) =>
        answerWithKey(await keys.create({ principal, author }, params.workspace_id, body)),
      {
        ...ADMINISTRATION,
        events: ['auth.user.create'],
        audits: ['access.create-key', 'access.create-user'],
        params: parameters(WorkspacePath),
        body: json(KeyCreate, { example: KEY_CREATE_EXAMPLE }),
        response: {
          201: answer({ description: 'The key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE }),
          ...refusals(404),
        },
        detail: {
          operationId: 'access.create-key',
          summary: 'Create a key',
          description:
            'The key is in this answer and in no other. It acts for the person of `user_email` (who is added to the ' +
            'workspace if need be), or of the e-mail of the caller. Only operators give the scope `operator`, or ' +
            'create keys that act for another operator.',
        },
      },
    )
    .patch(
      '/:key_id',
      ({ principal, author, params, body }) => keys.update({ principal, author }, toReference(params), body),
      {
        ...ITEM,
        audits: ['access.update-key'],
        body: json(KeyPatch, { example: { disabled: true } }),
        response: {
          200: answer({ description: 'The changed key.', schema: KeyRead, example: KEY_EXAMPLE }),
          ...refusals(404),
        },
        detail: { operationId: 'access.update-key', summary: 'Rename, disable or enable a key' },
      },
    )
    .post(
      '/:key_id/rotate',
      async ({ principal, author, params, body }) =>
        answerWithKey(await keys.rotate({ principal, author }, toReference(params), body)),
      {
        ...ITEM,
        audits: ['access.rotate-key'],
        body: json(KeyRotate, { example: { grace_seconds: 3600 }, optional: true }),
        response: {
          201: answer({ description: 'The new key.', schema: KeyCreated, example: KEY_CREATED_EXAMPLE }),
          ...refusals(404, 409),
        },
        detail: {
          operationId: 'access.rotate-key',
          summary: 'Replace a key by a new one with the same name, owner, scopes and limits',
          description:
            'The old key ends at once, unless the body says `{"grace_seconds": n}`. With `expires_at` in the body ' +
            "the new key has that expiry, else the old one's. The body may be absent.",
        },
      },
    )
    .delete(
      '/:key_id',
      ({ principal, author, params }) => keys.revoke({ principal, author }, toReference(params)),
      {
        ...ITEM,
        audits: ['access.revoke-key'],
        response: { 204: answer({ description: 'Revoked; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'access.revoke-key',
          summary: 'Revoke a key',
          description: 'From this answer on no request with the key is accepted.',
        },
      },
    );
}
