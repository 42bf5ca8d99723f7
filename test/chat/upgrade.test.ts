// Conversations from before they had owners.

import { expect, test } from 'bun:test';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { MIGRATIONS, silentLog, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const OWNERS = '0009-chat-owners.sql';
const PERSON = '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa';

test("sessions become those of the people whose keys made them; those of bots and of people who are gone nobody's", async () => {
  await using database = await testDatabase();
  const { sql } = database;
  const directory = freshFolder();
  const files = readdirSync(MIGRATIONS).toSorted();
  for (const name of files.slice(0, files.indexOf(OWNERS)))
    cpSync(join(MIGRATIONS, name), join(directory, name));
  await sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await migrate(sql, { directory, log: silentLog });
  await sql`INSERT INTO workspaces (id, name) VALUES ('acme', 'Acme'), ('other', 'Other')`;
  await sql`
    INSERT INTO users (id, workspace_id, email) VALUES (${PERSON}, 'acme', 'ada@example.com')`;
  const sessions: [workspace: string, channel: string, plugin: string, person: string][] = [
    ['acme', 'web', 'widget', 'ada@example.com'],
    ['acme', 'web', 'widget', 'gone@example.com'],
    ['other', 'web', 'widget', 'ada@example.com'],
    ['acme', 'google_chat', 'chatapp', 'ada@example.com'],
  ];
  for (const [workspace, channel, plugin, person] of sessions)
    await sql`
      INSERT INTO chat_sessions
        (workspace_id, key, channel, channel_plugin, channel_id, channel_session_id, persona_id, agi_id, person)
      VALUES (${workspace}, gen_random_uuid(), ${channel}, ${plugin}, 'x', 'x', 0, 'x', ${person})`;
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  const rows = await sql<{ owner: string }[]>`SELECT user_id AS owner FROM chat_sessions ORDER BY id`;
  expect(rows.map(({ owner }) => owner)).toEqual([PERSON, '', '', '']);
});
