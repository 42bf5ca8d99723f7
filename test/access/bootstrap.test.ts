import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SCOPES } from '../../src/core/principal.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type Instance, startInstance } from './administration.ts';

const PROCESSES = 5;
let database: TestDatabase;
let instances: Instance[];

beforeAll(async () => {
  database = await testDatabase();
  instances = await Promise.all(
    Array.from({ length: PROCESSES }, () => startInstance({ url: database.url })),
  );
});
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop()));
  await database.drop();
});

const onAll = (request: { workspace: string; key?: string }) =>
  Promise.all(instances.map((instance) => instance.access.bootstrap(request)));

async function countsOf(workspace: string): Promise<unknown> {
  const [row] = await database.sql`
    SELECT (SELECT count(*)::int FROM workspaces WHERE id = ${workspace}) AS workspaces,
      (SELECT count(*)::int FROM users WHERE workspace_id = ${workspace}) AS users,
      (SELECT count(*)::int FROM keys WHERE workspace_id = ${workspace}) AS keys`;
  return { ...row };
}
const ONE_OF_EACH = { workspaces: 1, users: 1, keys: 1 };

const principalOf = (key: string) => instances[0]?.access.authenticators.key(key);

test('processes that start at once make one of each, and one of them gets the new key', async () => {
  const outcomes = await onAll({ workspace: 'fresh' });
  const keys = outcomes.flatMap(({ key }) => key ?? []);
  expect(keys).toHaveLength(1);
  expect(await countsOf('fresh')).toEqual(ONE_OF_EACH);
  const principal = await principalOf(keys[0] ?? '');
  expect(principal).toMatchObject({ workspaceId: 'fresh', email: 'admin@fresh.localhost' });
  expect(principal?.scopes).toEqual(new Set(SCOPES));
  expect((await onAll({ workspace: 'fresh' })).flatMap(({ key }) => key ?? [])).toEqual([]);
  expect(await countsOf('fresh')).toEqual(ONE_OF_EACH);
});

test('a given key becomes exactly that key, once, and is not given back', async () => {
  const key = 'a given key, of any characters: 0123456789';
  expect((await onAll({ workspace: 'given', key })).flatMap((outcome) => outcome.key ?? [])).toEqual([]);
  await onAll({ workspace: 'given', key });
  expect(await countsOf('given')).toEqual(ONE_OF_EACH);
  expect(await principalOf(key)).toMatchObject({ workspaceId: 'given', email: 'admin@given.localhost' });
});

test('another key given later is added, for the same administrator', async () => {
  await onAll({ workspace: 'two', key: 'the-first-key-0123456789-abcdefghij' });
  await onAll({ workspace: 'two', key: 'the-second-key-0123456789-abcdefghi' });
  expect(await countsOf('two')).toEqual({ workspaces: 1, users: 1, keys: 2 });
});

test('a given key that was revoked stays revoked, and the log says so', async () => {
  const key = 'a-key-that-leaked-0123456789-abcdef';
  const [instance] = instances;
  await instance?.access.bootstrap({ workspace: 'leak', key });
  await database.sql`UPDATE keys SET revoked_at = now() WHERE workspace_id = 'leak'`;
  await instance?.access.bootstrap({ workspace: 'leak', key });
  expect(await principalOf(key)).toBeUndefined();
  expect(await countsOf('leak')).toEqual(ONE_OF_EACH);
  expect(JSON.stringify(instance?.lines)).toContain(
    'the bootstrap key was revoked or disabled, and stays so',
  );
  expect(JSON.stringify(instance?.lines)).not.toContain(key);
});

test.each([
  [{ workspace: 'admin' }, 'The workspace name admin is reserved'],
  [{ workspace: 'Not A Name' }, 'The workspace name "Not A Name" is not'],
  [{ workspace: 'short', key: 'too-short' }, 'The bootstrap key is shorter than 32 characters'],
  [{ workspace: 'wrong', key: `atr_${'0'.repeat(39)}` }, 'its checksum is wrong'],
])('%j is refused in one sentence', async (request, sentence) => {
  const [instance] = instances;
  const attempt = instance?.access.bootstrap(request).catch((error: Error) => error.message);
  expect(await attempt).toContain(sentence);
  expect(await countsOf(request.workspace)).toEqual({ workspaces: 0, users: 0, keys: 0 });
});

test('a workspace that has had a name since before it was reserved goes on', async () => {
  await database.sql`INSERT INTO workspaces (id, name, created_at) VALUES ('rerank', 'rerank', now())`;
  const key = 'a-key-of-an-old-workspace-0123456789';
  await onAll({ workspace: 'rerank', key });
  expect(await principalOf(key)).toMatchObject({ workspaceId: 'rerank' });
  const [instance] = instances;
  const fresh = instance?.access.bootstrap({ workspace: 'mcp' }).catch((error: Error) => error.message);
  expect(await fresh).toBe('The workspace name mcp is reserved');
});

test("another workspace's key is refused", async () => {
  const key = 'a-key-of-one-workspace-0123456789-a';
  const [instance] = instances;
  await instance?.access.bootstrap({ workspace: 'one', key });
  const attempt = instance?.access
    .bootstrap({ workspace: 'another', key })
    .catch((error: Error) => error.message);
  expect(await attempt).toBe('The bootstrap key belongs to another workspace than another');
});
