import { expect, test } from 'bun:test';
import { SCOPES, type Scope } from '../../src/core/principal.ts';
import { shared } from '../support/shared.ts';
import { OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const OWN = `/admin/api/workspaces/${WORKSPACE}`;
const OTHER = '/admin/api/workspaces/other';
const administration = await shared(startAdministration());
const { ask, makeKey } = administration;
await ask('POST', '/admin/api/workspaces', { key: OPERATOR_KEY, body: { id: 'other' } });
const made = await ask('POST', `${OTHER}/users`, { key: OPERATOR_KEY, body: { email: 'o@example.com' } });
const user = made.body.id;
const victim: string = (await makeKey(['chat'], {}, 'other')).id;

type Attempt = [method: string, path: string, body: object | undefined, inOwn: number, inOther: number];

/** Statuses for a key with the scope admin; every other scope but operator is refused throughout. */
const attempts = (): Attempt[] => [
  ['GET', '', undefined, 200, 200],
  ['POST', '', { id: 'w-new' }, 403, 403],
  ['GET', '/users', undefined, 200, 403],
  ['POST', '/users', { email: `${crypto.randomUUID()}@example.com` }, 201, 403],
  ['PATCH', `/users/${user}`, { name: 'x' }, 404, 403],
  ['DELETE', `/users/${user}`, undefined, 404, 403],
  ['GET', '/keys', undefined, 200, 403],
  ['POST', '/keys', { name: 'k', scopes: ['chat'] }, 201, 403],
  ['PATCH', `/keys/${victim}`, { name: 'x' }, 404, 403],
  ['POST', `/keys/${victim}/rotate`, undefined, 404, 403],
  ['DELETE', `/keys/${victim}`, undefined, 404, 403],
];

const askAll = async (key: string | undefined, workspace: string): Promise<number[]> => {
  const statuses: number[] = [];
  for (const [method, path, body] of attempts()) {
    const full = path === '' ? '/admin/api/workspaces' : `${workspace}${path}`;
    const credential = key === undefined ? {} : { key };
    const payload = body === undefined ? {} : { body };
    statuses.push((await administration.ask(method, full, { ...credential, ...payload })).status);
  }
  return statuses;
};

test('the scope admin administers its own workspace and no other', async () => {
  const { key } = await administration.makeKey(['admin']);
  expect(await askAll(key, OWN)).toEqual(attempts().map(([, , , inOwn]) => inOwn));
  expect(await askAll(key, OTHER)).toEqual(attempts().map(([, , , , inOther]) => inOther));
});

const POWERLESS = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'operator');

test.each(POWERLESS)('the scope %s administers nothing', async (scope) => {
  const { key } = await administration.makeKey([scope as Scope]);
  expect(new Set(await askAll(key, OWN))).toEqual(new Set([403]));
  expect(new Set(await askAll(key, OTHER))).toEqual(new Set([403]));
});

test('without a credential, or with one that is none, everything is 401', async () => {
  for (const key of [undefined, '', 'nonsense', 'x'.repeat(40), `atr_${'0'.repeat(39)}`])
    expect(new Set(await askAll(key, OWN))).toEqual(new Set([401]));
  const refused = await administration.ask('GET', `${OWN}/keys`);
  expect(refused.headers.get('www-authenticate')).toContain('Bearer');
});

test('the scope operator alone administers every workspace', async () => {
  const { ask, makeKey } = administration;
  const { key } = await makeKey(['operator']);
  expect((await ask('GET', `${OTHER}/keys`, { key })).status).toBe(200);
  expect((await ask('PATCH', `${OTHER}/users/${user}`, { key, body: { name: 'x' } })).status).toBe(200);
  expect((await ask('POST', '/admin/api/workspaces', { key, body: { id: 'w-op' } })).status).toBe(201);
  expect((await ask('GET', '/admin/api/workspaces/nowhere/keys', { key })).status).toBe(404);
});

test('a key travels as Bearer as well', async () => {
  const headers = { authorization: `Bearer ${OPERATOR_KEY}` };
  expect((await administration.ask('GET', `${OWN}/keys`, { headers })).status).toBe(200);
});

test('only operators give the scope operator, or get hold of a key that has it', async () => {
  const { ask, makeKey } = administration;
  const { key } = await makeKey(['admin']);
  const operator = await makeKey(['operator']);
  const path = `${OWN}/keys/${operator.id}`;
  const body = { name: 'k', scopes: ['chat', 'operator'] };
  expect((await ask('POST', `${OWN}/keys`, { key, body })).status).toBe(403);
  expect((await ask('POST', `${path}/rotate`, { key })).status).toBe(403);
  expect((await ask('PATCH', path, { key, body: { disabled: false } })).status).toBe(403);
  expect((await ask('POST', `${path}/rotate`, { key: OPERATOR_KEY })).status).toBe(201);
});
