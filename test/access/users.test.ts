import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const USERS = `/admin/api/workspaces/${WORKSPACE}/users`;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const key = OPERATOR_KEY;
const administration = await shared(startAdministration());
await administration.ask('POST', '/admin/api/workspaces', { key, body: { id: 'other' } });

const add = (email: string, name?: string) =>
  administration.ask('POST', USERS, { key, body: name === undefined ? { email } : { email, name } });

test('a person is added with their e-mail in lower case', async () => {
  const made = await add('Grace@Example.COM', 'Grace');
  expect(made.status).toBe(201);
  expect(Object.keys(made.body)).toEqual(['id', 'email', 'name', 'created_at']);
  expect(made.body).toMatchObject({ email: 'grace@example.com', name: 'Grace' });
  const listed = await administration.ask('GET', USERS, { key });
  expect(listed.body.items[0]).toEqual(made.body);
  expect(
    await administration.access.findUser({ workspaceId: WORKSPACE, userId: made.body.id }),
  ).toMatchObject({ id: made.body.id, email: 'grace@example.com' });
  expect(
    await administration.access.findUser({ workspaceId: 'other', userId: made.body.id }),
  ).toBeUndefined();
});

test('an e-mail is taken whatever its case, but only within its workspace', async () => {
  const { ask } = administration;
  await add('taken@example.com');
  expect((await add('TAKEN@example.com')).status).toBe(409);
  const elsewhere = await ask('POST', '/admin/api/workspaces/other/users', {
    key,
    body: { email: 'taken@example.com' },
  });
  expect(elsewhere.status).toBe(201);
});

test('a change keeps what it does not name, and null clears the name', async () => {
  const { ask } = administration;
  const { body: user } = await add('change@example.com', 'Before');
  const path = `${USERS}/${user.id}`;
  const moved = await ask('PATCH', path, { key, body: { email: 'Changed@example.com' } });
  expect(moved.status).toBe(200);
  expect(moved.body).toEqual({ ...user, email: 'changed@example.com' });
  expect((await ask('PATCH', path, { key, body: {} })).body.name).toBe('Before');
  expect((await ask('PATCH', path, { key, body: { name: null } })).body.name).toBeNull();
  expect((await ask('PATCH', path, { key, body: { email: null } })).status).toBe(422);
  await add('occupied@example.com');
  expect((await ask('PATCH', path, { key, body: { email: 'Occupied@example.com' } })).status).toBe(409);
});

test("a changed e-mail stands in the person's principals at once", async () => {
  const { ask, makeKey, access } = administration;
  const made = await makeKey(['chat'], { user_email: 'old@example.com' });
  const before = await access.authenticators.key(made.key);
  const path = `${USERS}/${before?.userId}`;
  await ask('PATCH', path, { key, body: { email: 'new@example.com' } });
  expect(await access.authenticators.key(made.key)).toMatchObject({ email: 'new@example.com' });
});

test('deleting a person revokes their keys at once, and theirs alone; the keys stay on record', async () => {
  const { ask, makeKey, access, sql } = administration;
  const theirs = await makeKey(['chat'], { user_email: 'leaver@example.com' });
  const others = await makeKey(['chat'], { user_email: 'stayer@example.com' });
  const userId = (await access.authenticators.key(theirs.key))?.userId;
  await access.authenticators.key(others.key);
  expect((await ask('DELETE', `${USERS}/${userId}`, { key })).status).toBe(204);
  expect(await access.authenticators.key(theirs.key)).toBeUndefined();
  expect(await access.authenticators.key(others.key)).toBeDefined();
  expect((await ask('DELETE', `${USERS}/${userId}`, { key })).status).toBe(404);
  const [row] = await sql<{ revoked: boolean; userId: string | null }[]>`
    SELECT revoked_at IS NOT NULL AS revoked, user_id AS "userId" FROM keys WHERE id = ${theirs.id}`;
  expect(row).toEqual({ revoked: true, userId: null });
});

test('unknown people, those of other workspaces, and unknown workspaces are 404', async () => {
  const { ask } = administration;
  const { body: user } = await add('foreign@example.com');
  for (const path of [`${USERS}/${UNKNOWN}`, `/admin/api/workspaces/other/users/${user.id}`]) {
    expect((await ask('PATCH', path, { key, body: { name: 'x' } })).status).toBe(404);
    expect((await ask('DELETE', path, { key })).status).toBe(404);
  }
  expect((await ask('GET', '/admin/api/workspaces/nowhere/users', { key })).status).toBe(404);
  const body = { email: 'a@example.com' };
  expect((await ask('POST', '/admin/api/workspaces/nowhere/users', { key, body })).status).toBe(404);
  expect((await ask('DELETE', `${USERS}/no-uuid`, { key })).status).toBe(422);
});

test.each(['ada', 'a b@example.com', '@example.com', ''])('%j is no e-mail', async (email) => {
  const refused = await add(email);
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ loc: ['body', 'email'], type: 'value_error' }]);
});

test('pages hold every person once, newest first', async () => {
  const { ask } = administration;
  await ask('POST', '/admin/api/workspaces', { key, body: { id: 'pages' } });
  const path = '/admin/api/workspaces/pages/users';
  const made: string[] = [];
  for (let index = 0; index < 5; index++)
    made.unshift((await ask('POST', path, { key, body: { email: `p${index}@example.com` } })).body.id);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await ask('GET', `${path}?limit=2&cursor=${cursor}`, { key });
    seen.push(...page.body.items.map(({ id }) => id));
    cursor = page.body.next_cursor;
  }
  expect(seen).toEqual(made);
});
