// The keys of a workspace. The text of a key stands only in the answer that creates it.

import type { Static } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import { parseDateTime } from '../core/date-time.ts';
import { toEmailKey } from '../core/email.ts';
import { conflict, notFound, valueError } from '../core/errors.ts';
import { isUuid, newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Http } from '../http/http.ts';
import { answer, json, parameters, refusals } from '../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../http/paging.ts';
import { WorkspacePath } from '../http/schemas.ts';
import type { Commits } from './authentication.ts';
import { type Caller, refuseUnlessOperator } from './changes.ts';
import { KEY_CREATE_EXAMPLE, KEY_CREATED_EXAMPLE, KEY_EXAMPLE } from './examples.ts';
import { createKeyText, hashSecret, shownPrefix } from './key-text.ts';
import { KeyCreate, KeyCreated, KeyPage, KeyPatch, KeyPath, KeyRead, KeyRotate, toLimits } from './schema.ts';
import type { FoundKey, Key, KeyReference, KeyStore, Secret } from './store/keys.ts';
import type { WorkspaceStore } from './workspaces.ts';

type KeysDeps = { store: KeyStore; workspaces: WorkspaceStore; commits: Commits; clock: Clock };

function createKeys({ store, workspaces, commits, clock }: KeysDeps) {
  /** Throws 404; 403 when others than operators ask for a key with the scope `operator`. */
  const findWithinReach = async (principal: Principal, reference: KeyReference): Promise<FoundKey> => {
    const key = await store.find(reference);
    if (key === undefined) throw keyNotFound();
    refuseUnlessOperator(principal, key.scopes.includes('operator'));
    return key;
  };

  return {
    /**
     * Creates a key for the user of `user_email`, by default the caller's own e-mail; if no user has it, one is created.
     * Throws 404 for an unknown workspace, 422 for an expiry in the past, and 403 when others than operators give the scope
     * `operator`, or ask for a key for another user who is an operator.
     */
    async create({ principal, author }: Caller, workspaceId: string, wanted: KeyCreate): Promise<KeyCreated> {
      await workspaces.require(workspaceId);
      const userEmail = toEmailKey(wanted.user_email ?? principal.email);
      refuseUnlessOperator(principal, wanted.scopes.includes('operator'));
      if (userEmail !== principal.email)
        refuseUnlessOperator(principal, await store.isOperator(workspaceId, userEmail));
      const text = createKeyText();
      const key = await store.insert({
        ...toSecret(text, toExpiry(wanted.expires_at, clock.now()), clock.now()),
        workspaceId,
        name: wanted.name,
        scopes: [...new Set(wanted.scopes)],
        limits: toLimits(wanted.limits),
        userEmail,
        userId: newId(),
        emitsUserEvent: true,
        author,
      });
      if (key === undefined) throw new Error('a new key has the hash of another one');
      commits.follow();
      return { ...render(key), key: text };
    },

    /**
     * Throws 404; 403 when others than operators change a key with the scope `operator`, or enable one of another user who
     * is an operator.
     */
    async update(
      { principal, author }: Caller,
      reference: KeyReference,
      changes: KeyPatch,
    ): Promise<KeyRead> {
      const key = await findWithinReach(principal, reference);
      refuseUnlessOperator(principal, changes.disabled === false && actsForOtherOperator(key, principal));
      const changed = await store.update(reference, changes, author);
      if (changed === undefined) throw keyNotFound();
      commits.follow([changed.hash]);
      return render(changed.key);
    },

    /**
     * Creates a key like the old one, which ends at once or after `grace_seconds`. Throws 404; 403 as `update` does, and for
     * a key of another user who is an operator; 409 for a key that was rotated before, for that of single sign-on, and for an
     * expired one unless `expires_at` is given.
     */
    async rotate(
      { principal, author }: Caller,
      reference: KeyReference,
      wanted: KeyRotate,
    ): Promise<KeyCreated> {
      const old = await findWithinReach(principal, reference);
      refuseUnlessOperator(principal, actsForOtherOperator(old, principal));
      if (old.signOn) throw conflict('The key is that of single sign-on, which has no text');
      const now = clock.now();
      const expiresAt = wanted.expires_at === undefined ? old.expiresAt : toExpiry(wanted.expires_at, now);
      if (expiresAt !== null && expiresAt <= now)
        throw conflict('The key has expired: give the new one an expires_at');
      const text = createKeyText();
      const endsAt = new Date(now.getTime() + (wanted.grace_seconds ?? 0) * 1000);
      const rotated = await store.rotate(reference, toSecret(text, expiresAt, now), { now, endsAt, author });
      if (rotated === undefined) {
        const replaced = (await store.find(reference)) !== undefined;
        throw replaced ? conflict('The key has been rotated already') : keyNotFound();
      }
      commits.follow([rotated.oldHash]);
      return { ...render(rotated.key), key: text };
    },

    /** No later request with the key is accepted. Throws 404, also when it was revoked before; 403 as `update` does. */
    async revoke({ principal, author }: Caller, reference: KeyReference): Promise<void> {
      await findWithinReach(principal, reference);
      const hash = await store.revoke(reference, clock.now(), author);
      if (hash === undefined) throw keyNotFound();
      commits.follow([hash]);
    },
  };
}

const actsForOtherOperator = ({ ofOperator, userId }: FoundKey, principal: Principal): boolean =>
  ofOperator && userId !== principal.userId;

const keyNotFound = () => notFound('Key not found');

const toSecret = (text: string, expiresAt: Date | null, createdAt: Date): Secret => ({
  id: newId(),
  prefix: shownPrefix(text),
  hash: hashSecret(text),
  createdAt,
  expiresAt,
});

function toExpiry(text: string | null | undefined, now: Date): Date | null {
  if (text === null || text === undefined) return null;
  const expiresAt = parseDateTime(text);
  if (expiresAt === undefined || expiresAt <= now)
    throw valueError(['body', 'expires_at'], 'the expiry must be in the future', text);
  return expiresAt;
}

const render = (key: Key): KeyRead => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  user_email: key.userEmail,
  limits: key.limits,
  disabled: key.disabled,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
});

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' } } as const;
const ITEM = { ...ADMINISTRATION, work: 'exempt', params: parameters(KeyPath) } as const;

/** No cache, in the browser or on the way, keeps a secret. */
const answerWithKey = (key: KeyCreated): Response =>
  Response.json(key, { status: 201, headers: { 'cache-control': 'no-store' } });

const toReference = (params: Static<typeof KeyPath>): KeyReference => ({
  workspaceId: params.workspace_id,
  keyId: params.key_id,
});

export function keyRoutes({ plugin }: Http, deps: KeysDeps) {
  const { store, workspaces } = deps;
  const keys = createKeys(deps);
  return new Elysia({
    name: 'access.keys',
    prefix: '/admin/api/workspaces/:workspace_id/keys',
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
      },
    )
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
