// The check of a credential waits for nothing that changes keys and people, which a slow disk may hold up for long.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

/** More than the connections of the main pool. */
const KEYS_AT_ONCE = 24;
const CONNECTIONS_OF_MAIN = 10;

test('a key is checked while changes of keys wait', async () => {
  await using database = await testDatabase();
  await using service = await startService({ environment: { DATABASE_URL: database.url } });
  const call = (key: string, init?: RequestInit): Promise<Response> =>
    fetch(`${service.url}/admin/api/workspaces/${WORKSPACE}/keys`, {
      ...init,
      headers: { APIKeyHeader: key, 'content-type': 'application/json' },
    });
  const make = async (): Promise<string> => {
    const body = JSON.stringify({ name: 'k', scopes: ['documents:read'] });
    const answer = await call(BOOTSTRAP_KEY, { method: 'POST', body });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { key: string }).key;
  };
  const unknown = await make();
  const client = connectTo(database.url);
  const holder = client.reserve();
  await holder.unsafe('begin; lock table keys in share row exclusive mode');
  const changes = Array.from({ length: KEYS_AT_ONCE }, make);
  await eventually('the changes to wait', async () => {
    const waiting = await client`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length >= CONNECTIONS_OF_MAIN;
  });
  const answer = await fetch(`${service.url}/v1/filter/${WORKSPACE}`, { headers: { APIKeyHeader: unknown } });
  expect(answer.status).toBe(200);
  await holder.unsafe('rollback');
  holder.release();
  await Promise.all(changes);
  await client.end({ timeout: 1 });
});

test('the first request finds a connection, which a busy machine may take long to make', async () => {
  await using database = await testDatabase();
  await using _service = await startService({ environment: { DATABASE_URL: database.url } });
  const connections = await database.sql`
    select from pg_stat_activity where datname = current_database() and application_name = 'atrium-look-ups'`;
  expect(connections).toHaveLength(1);
});
