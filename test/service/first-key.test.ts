// The first key is in the data folder before it opens anything: no crash makes a workspace whose key nobody has. And
// nothing is ready before it is there.

import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBootstrap } from '../../src/access/bootstrap.ts';
import { systemClock } from '../../src/core/clock.ts';
import { eventually, freePort, startChild } from '../support/child.ts';
import { silentLog, testDatabase } from '../support/database.ts';
import { MAIN } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

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

test.each(['1', '2'])(
  'nothing is answered before the key that was asked for is good: PROCESSES=%s',
  async (PROCESSES) => {
    const workspace = `late-${PROCESSES}`;
    const [PORT, DATA_DIR] = [String(freePort()), mkdtempSync(join(tmpdir(), 'atrium-first-key-'))];
    const environment = {
      PORT,
      PROCESSES,
      DATA_DIR,
      DATABASE_URL: database.url,
      BOOTSTRAP_WORKSPACE: workspace,
      LOG_FORMAT: 'json',
    };
    const url = `http://127.0.0.1:${PORT}`;
    const probe = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status,
        () => 'refused',
      );
    const held = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const lock = database.sql.begin(async (transaction) => {
      await transaction`LOCK TABLE workspaces IN SHARE MODE`;
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    const child = startChild([process.execPath, MAIN], { environment });
    await eventually('the workspace to wait for the lock', async () => {
      const waiting = await database.sql`
        SELECT 1 FROM pg_locks WHERE relation = 'workspaces'::regclass AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return waiting.length > 0;
    });
    expect(await probe()).toBe('refused');
    held.resolve();
    await lock;
    await eventually('the service to be ready', async () => (await probe()) === 200);
    const key = readFileSync(join(DATA_DIR, `first-key-${workspace}`), 'utf8').trim();
    const answer = await fetch(`${url}/v1/${workspace}/trash`, { headers: { APIKeyHeader: key } });
    expect(answer.status).toBe(200);
    await child.stop();
    expect(child.output()).not.toContain(key);
    rmSync(DATA_DIR, { recursive: true });
  },
);
