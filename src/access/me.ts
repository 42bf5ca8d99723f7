import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { unauthenticated } from '../core/errors.ts';
import type { Principal, RemainingLimits } from '../core/principal.ts';
import type { Http } from '../http/http.ts';
import { answer, parameters } from '../http/input.ts';
import { component, moment, nullable, text } from '../http/schemas.ts';
import { KEY_EXAMPLE, USER_EXAMPLE, WORKSPACE_EXAMPLE } from './examples.ts';
import { KeyRead, UserRead } from './schema.ts';
import type { KeyStore, OwnKey } from './store/keys.ts';

const { id, name, prefix, scopes, created_at, expires_at } = KeyRead.properties;
const limitOf = (description: string) => nullable(Type.Number(), description);
const leftOf = (description: string) =>
  nullable(
    Type.Object({
      remaining: Type.Number({
        description: 'What is left now; tokens are rounded down, and any part of one admits a call.',
      }),
      resets_at: moment('When all of it is back, if nothing is used until then.'),
    }),
    description,
  );

const MeRead = component('Me', 'A key, for whom it acts, and what is left of its limits.', {
  workspace_id: text('The workspace of the key.'),
  key: Type.Object({ id, name, prefix, scopes, created_at, expires_at }, { description: 'The key.' }),
  user: nullable(
    Type.Object({
      id: UserRead.properties.id,
      email: UserRead.properties.email,
      name: UserRead.properties.name,
    }),
    'The person that the key acts for.',
  ),
  limits: Type.Object(
    {
      requests_per_minute: limitOf('Requests to models in a minute; null: no limit.'),
      tokens_per_minute: limitOf('Tokens in a minute; null: no limit.'),
      budget_per_month: limitOf('In the currency of the prices; null: no limit.'),
    },
    { description: 'The limits of the key.' },
  ),
  remaining: Type.Object(
    {
      requests_per_minute: leftOf('Requests; null: no limit.'),
      tokens_per_minute: leftOf('Tokens, those reserved by requests under way taken off; null: no limit.'),
      budget_per_month: leftOf('Money, what requests under way have reserved taken off; null: no limit.'),
    },
    { description: 'What is left of them, as the next call of a model would find it.' },
  ),
});

const EXAMPLE: Static<typeof MeRead> = {
  workspace_id: WORKSPACE_EXAMPLE.id,
  key: {
    id: KEY_EXAMPLE.id,
    name: KEY_EXAMPLE.name,
    prefix: KEY_EXAMPLE.prefix,
    scopes: ['documents:read', 'documents:write'],
    created_at: KEY_EXAMPLE.created_at,
    expires_at: KEY_EXAMPLE.expires_at,
  },
  user: { id: USER_EXAMPLE.id, email: USER_EXAMPLE.email, name: USER_EXAMPLE.name },
  limits: { requests_per_minute: 600, tokens_per_minute: null, budget_per_month: null },
  remaining: {
    requests_per_minute: { remaining: 598, resets_at: '2026-11-20T23:38:56.323Z' },
    tokens_per_minute: null,
    budget_per_month: null,
  },
};

export function meRoutes(
  { plugin }: Http,
  deps: {
    store: KeyStore;
    remaining(principal: Principal): Promise<RemainingLimits>;
  },
) {
  return new Elysia({ name: 'access.me', tags: ['access'] }).use(plugin).get(
    '/v1/me',
    async ({ principal }) => {
      const [key, remaining] = await Promise.all([
        deps.store.findOwn(principal.keyId),
        deps.remaining(principal),
      ]);
      if (key === undefined) throw unauthenticated('The API key is unknown, expired or revoked');
      return render(principal, key, remaining);
    },
    {
      key: { in: 'key' },
      query: parameters(Type.Object({}, { additionalProperties: false })),
      response: { 200: answer({ description: 'The key.', schema: MeRead, example: EXAMPLE }) },
      detail: {
        operationId: 'access.read-me',
        summary: 'The key of the request, for whom it acts, and what is left of its limits',
        description:
          'Any key may ask this, whatever its scopes; it counts as no request. What is left is read from the ' +
          'gateway’s own counters, over all processes, and requests under way have reserved their part.',
      },
    },
  );
}

const render = (
  { workspaceId, limits }: Principal,
  key: OwnKey,
  remaining: RemainingLimits,
): Static<typeof MeRead> => ({
  workspace_id: workspaceId,
  key: {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    scopes: key.scopes,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
  },
  user: { id: key.userId, email: key.userEmail, name: key.userName },
  limits: {
    requests_per_minute: limits.requests_per_minute ?? null,
    tokens_per_minute: limits.tokens_per_minute ?? null,
    budget_per_month: limits.budget_per_month ?? null,
  },
  remaining,
});
