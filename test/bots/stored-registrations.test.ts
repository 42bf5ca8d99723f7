// Registrations that were stored by earlier versions.

import { expect, test } from 'bun:test';
import { createBotStore } from '../../src/bots/store/bots.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

test('a URL of keys that was stored without saying who gave it leads to public addresses alone', async () => {
  const { sql } = database;
  const stored = { mode: 'project_number', audience: '17', jwks: 'http://127.0.0.1:1/keys' };
  await sql`INSERT INTO workspaces (id, name) VALUES ('acme', 'Acme') ON CONFLICT DO NOTHING`;
  await sql`
    INSERT INTO bots (workspace_id, id, verification, commands, created_at, updated_at)
    VALUES ('acme', 'old', ${sql.json(stored)}::jsonb, '[]'::jsonb, now(), now())`;
  const store = createBotStore(sql);
  const expected = { ...stored, jwks_anywhere: false };
  expect((await store.find({ workspaceId: 'acme', id: 'old' }))?.verification).toEqual(expected as never);
  const [listed] = await store.list('acme', { limit: 10, after: undefined });
  expect(listed?.verification).toEqual(expected as never);
});
