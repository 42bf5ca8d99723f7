// The first key is in the data folder before it opens anything: no crash makes a workspace whose key nobody has.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createBootstrap } from '../../src/access/bootstrap.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const bootstrap = () => createBootstrap({ sql: database.sql, clock: systemClock, log: silentLog });
const workspaces = async (id: string): Promise<number> =>
  (await database.sql`SELECT 1 FROM workspaces WHERE id = ${id}`).length;

test('a key that cannot be kept is not made, nor is its workspace', async () => {
  const keep = (): never => {
    throw new Error('the disk is full');
  };
  await expect(bootstrap()({ workspace: 'unkept', keep })).rejects.toThrow('the disk is full');
  expect(await workspaces('unkept')).toBe(0);
});

test('a key is kept while the database has nothing of it, once', async () => {
  const kept: { key: string; before: Promise<number> }[] = [];
  const request = {
    workspace: 'kept',
    keep: (key: string) => void kept.push({ key, before: workspaces('kept') }),
  };
  const first = await bootstrap()(request);
  const again = await bootstrap()(request);
  expect(kept).toHaveLength(1);
  expect(kept[0]?.key).toBe(first.key ?? '');
  expect(again.key).toBeUndefined();
  expect(await workspaces('kept')).toBe(1);
});
