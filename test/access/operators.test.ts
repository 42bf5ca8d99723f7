// What is an operator's: a key with the scope `operator`, the user who holds one, and whatever acts in that user's name.

import { expect, test } from 'bun:test';
import { trustedOperator } from '../../src/access/index.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { SCOPES, type Scope } from '../../src/core/principal.ts';
import { STATUS } from '../../src/http/failures.ts';
import { parseStatusTable } from '../acceptance/support/status-table.ts';
import { eventually } from '../support/child.ts';
import { serveRoutes } from '../support/serve-routes.ts';
import { shared } from '../support/shared.ts';
import { OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const OWN = `/admin/api/workspaces/${WORKSPACE}`;
const administration = await shared(startAdministration());
const { ask, makeKey } = administration;
await ask('POST', '/admin/api/workspaces', { key: OPERATOR_KEY, body: { id: 'other' } });
const everythingElse = SCOPES.filter((scope) => scope !== 'operator');
const keys: Record<string, string> = {
  admin: (await makeKey(['admin'], { user_email: 'admin@example.com' })).key,
  'all-else': (await makeKey(everythingElse, { user_email: 'all@example.com' })).key,
  operator: (await makeKey(['operator'], { user_email: 'second@example.com' })).key,
  'foreign-op': (await makeKey(['operator'], {}, 'other')).key,
  'foreign-admin': (await makeKey(['admin'], { user_email: 'a@example.com' }, 'other')).key,
};

/** A user with an operator's key, a plain one, and one of an administrator who is no operator. */
type Target = {
  email: string;
  userId: string;
  operatorKey: { id: string; key: string };
  plainKey: { id: string; key: string };
  adminKey: string;
};

async function newTarget(fields: object = {}): Promise<Target> {
  const { makeKey, access } = administration;
  const email = `${crypto.randomUUID()}@example.com`;
  const make = (scopes: readonly Scope[], more: object = {}) =>
    makeKey(scopes, { user_email: email, ...more });
  const operatorKey = await make(['chat', 'operator'], fields);
  const plainKey = await make(['chat']);
  const userId = (await access.authenticators.key(plainKey.key))?.userId ?? '';
  return { email, userId, operatorKey, plainKey, adminKey: (await make(['admin'])).key };
}

type Call = { operation: string; method: string; path: string; keyId?: string; body?: object };

const OPERATIONS: Record<string, (target: Target) => Call> = {
  'revoke-key': ({ operatorKey: { id } }) => ({
    operation: 'access.revoke-key',
    method: 'DELETE',
    path: `/keys/${id}`,
  }),
  'rotate-key': ({ operatorKey: { id } }) => ({
    operation: 'access.rotate-key',
    method: 'POST',
    path: `/keys/${id}/rotate`,
    body: {},
  }),
  'disable-key': ({ operatorKey: { id } }) => ({
    operation: 'access.update-key',
    method: 'PATCH',
    path: `/keys/${id}`,
    body: { disabled: true },
  }),
  'rename-key': ({ operatorKey: { id } }) => ({
    operation: 'access.update-key',
    method: 'PATCH',
    path: `/keys/${id}`,
    body: { name: 'x' },
  }),
  'rename-user': ({ userId }) => ({
    operation: 'access.update-user',
    method: 'PATCH',
    path: `/users/${userId}`,
    body: { name: 'x' },
  }),
  'change-email': ({ userId }) => ({
    operation: 'access.update-user',
    method: 'PATCH',
    path: `/users/${userId}`,
    body: { email: `${crypto.randomUUID()}@example.com` },
  }),
  'delete-user': ({ userId }) => ({
    operation: 'access.delete-user',
    method: 'DELETE',
    path: `/users/${userId}`,
  }),
  'create-operator-key': ({ email }) => ({
    operation: 'access.create-key',
    method: 'POST',
    path: '/keys',
    body: { name: 'n', scopes: ['operator'], user_email: email },
  }),
  'key-in-their-name': ({ email }) => ({
    operation: 'access.create-key',
    method: 'POST',
    path: '/keys',
    body: { name: 'n', scopes: ['chat'], user_email: email.toUpperCase() },
  }),
  'rotate-plain-key': ({ plainKey: { id } }) => ({
    operation: 'access.rotate-key',
    method: 'POST',
    path: `/keys/${id}/rotate`,
    body: {},
  }),
  'disable-plain-key': ({ plainKey: { id } }) => ({
    operation: 'access.update-key',
    method: 'PATCH',
    path: `/keys/${id}`,
    body: { disabled: true },
  }),
  'enable-plain-key': ({ plainKey: { id } }) => ({
    operation: 'access.update-key',
    method: 'PATCH',
    path: `/keys/${id}`,
    body: { disabled: false },
  }),
  'revoke-plain-key': ({ plainKey: { id } }) => ({
    operation: 'access.revoke-key',
    method: 'DELETE',
    path: `/keys/${id}`,
  }),
};

// `all-else` has every scope but operator; `themselves` is the same person, with a key that has the scope admin alone.
// Plain keys of an operator can be ended by the workspace's administrators, but not be had by them.
const TABLE = `
  operation           admin all-else themselves foreign-admin operator foreign-op command-line
  revoke-key          403   403      403        403           204      204        204
  rotate-key          403   403      403        403           201      201        201
  disable-key         403   403      403        403           200      200        200
  rename-key          403   403      403        403           200      200        200
  rename-user         403   403      403        403           200      200        200
  change-email        403   403      403        403           200      200        200
  delete-user         403   403      403        403           204      204        204
  create-operator-key 403   403      403        403           201      201        201
  key-in-their-name   403   403      201        403           201      201        201
  rotate-plain-key    403   403      201        403           201      201        201
  disable-plain-key   200   200      200        403           200      200        200
  enable-plain-key    403   403      200        403           200      200        200
  revoke-plain-key    204   204      204        403           204      204        204
`;

async function statusFor(caller: string, target: Target, call: Call): Promise<number> {
  const { method, path, body } = call;
  const key = caller === 'themselves' ? target.adminKey : keys[caller];
  if (key === undefined) return onCommandLine(target, call);
  return (await administration.ask(method, `${OWN}${path}`, { key, ...(body && { body }) })).status;
}

async function onCommandLine(target: Target, { operation, path, body }: Call): Promise<number> {
  const { http } = serveRoutes([administration.access.routes]);
  const [, , id = ''] = path.split('/');
  const input = { path: { workspace_id: WORKSPACE, key_id: id, user_id: id }, body };
  expect(target.userId).not.toBe('');
  try {
    await http.call(operation, { principal: trustedOperator(WORKSPACE) }, input);
    const { responses = {} } = http.operations().find((each) => each.id === operation) ?? {};
    return Number(Object.keys(responses)[0]);
  } catch (error) {
    if (error instanceof ServiceError) return STATUS[error.kind];
    throw error;
  }
}

test.each(parseStatusTable(TABLE, ['operation']))(
  '%s: operators alone, or as the table says',
  async (name, row) => {
    const found: Record<string, number> = {};
    for (const caller of Object.keys(row.statuses)) {
      const target = await newTarget();
      const call = OPERATIONS[name]?.(target);
      if (call === undefined) throw new Error(`no operation ${name}`);
      const status = await statusFor(caller, target, call);
      found[caller] = status;
      if (status !== 403) continue;
      // A refusal changes nothing.
      for (const text of [target.operatorKey.key, target.plainKey.key])
        expect(await administration.access.authenticators.key(text)).toMatchObject({ email: target.email });
    }
    expect(found).toEqual(row.statuses);
  },
);

test('the user of a disabled or expired operator key is an operator’s still: the key can be made good again', async () => {
  const { ask, clock } = administration;
  const soon = new Date(clock.now().getTime() + 60_000).toISOString();
  const [disabled, expired] = [await newTarget(), await newTarget({ expires_at: soon })];
  const path = `${OWN}/keys/${disabled.operatorKey.id}`;
  await ask('PATCH', path, { key: OPERATOR_KEY, body: { disabled: true } });
  clock.advance(61_000);
  const key = keys['admin'] ?? '';
  for (const { userId, operatorKey } of [disabled, expired]) {
    expect((await ask('DELETE', `${OWN}/users/${userId}`, { key })).status).toBe(403);
    expect((await ask('DELETE', `${OWN}/keys/${operatorKey.id}`, { key })).status).toBe(403);
  }
});

test('once no operator key is left, the user is like any other', async () => {
  const { ask } = administration;
  const { userId, operatorKey, email } = await newTarget();
  const key = keys['admin'] ?? '';
  await ask('DELETE', `${OWN}/keys/${operatorKey.id}`, { key: OPERATOR_KEY });
  const body = { name: 'n', scopes: ['chat'], user_email: email };
  expect((await ask('POST', `${OWN}/keys`, { key, body })).status).toBe(201);
  expect((await ask('PATCH', `${OWN}/users/${userId}`, { key, body: { name: 'x' } })).status).toBe(200);
  expect((await ask('DELETE', `${OWN}/users/${userId}`, { key })).status).toBe(204);
});

const RACES: Record<string, (userId: string) => [method: string, path: string, body?: object]> = {
  deletion: (userId) => ['DELETE', `${OWN}/users/${userId}`],
  'change of e-mail': (userId) => ['PATCH', `${OWN}/users/${userId}`, { email: 'somebody@example.com' }],
};

test.each(Object.entries(RACES))(
  'a %s waits for the operator key that is being made, and is refused',
  async (_name, toCall) => {
    const { ask, makeKey, access, sql } = administration;
    const email = `${crypto.randomUUID()}@example.com`;
    const { key: text } = await makeKey(['chat'], { user_email: email });
    const userId = (await access.authenticators.key(text))?.userId ?? '';
    const [method, path, body] = toCall(userId);
    const ending = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    // What the creation of a key does, held between its two tables' changes and the end of its transaction.
    const creation = sql.begin(async (tx) => {
      await tx`UPDATE users SET email = email WHERE id = ${userId}`;
      await tx`
      INSERT INTO keys (id, workspace_id, user_id, name, prefix, hash, scopes)
      VALUES (gen_random_uuid(), ${WORKSPACE}, ${userId}, 'n', 'p', sha256(${userId}::bytea), '{operator}')`;
      locked.resolve();
      await ending.promise;
    });
    await locked.promise;
    const asked = ask(method, path, { key: keys['admin'] ?? '', ...(body && { body }) });
    await eventually('the change to wait', async () => {
      const rows = await sql`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return rows.length > 0;
    });
    ending.resolve();
    await creation;
    expect((await asked).status).toBe(403);
    expect(await access.authenticators.key(text)).toMatchObject({ email });
  },
);
