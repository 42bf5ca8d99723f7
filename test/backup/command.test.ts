// The commands as an operator runs them: a service with embedded parts is backed up while it runs, and comes back elsewhere.

import { expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BACKUP_LOCK } from '../../src/documents/index.ts';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { exclusively } from '../../src/infra/postgres/exclusive.ts';
import { type AdminResult, runAdminWith } from '../support/admin.ts';
import { eventually } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { startService, WORKSPACE } from '../support/service.ts';
import { addDocument, ask, headers, urlOf } from './over-http.ts';

const EVENTS = `/api/v1/workspace_metric/${WORKSPACE}`;

const admin = (words: readonly string[], dataDir: string): Promise<AdminResult> =>
  runAdminWith({ DATA_DIR: dataDir }, words);

/** What the service of the first test has. */
async function expectAll(url: string, document: { id: string }): Promise<void> {
  expect(await (await fetch(await urlOf(url, document))).text()).toBe('kept');
  const { items } = await ask<{ items: object[] }>(url, 'GET', `${EVENTS}/by_created_at`);
  expect(items).toContainEqual(expect.objectContaining({ event_id: 'one', data: { value: 7 } }));
}

test('a service is backed up while it runs, restored elsewhere, and moved to another database with all that it has', async () => {
  const folder = join(freshFolder(), 'backup');
  const elsewhere = join(freshFolder(), 'data');
  let document = { id: '' };
  {
    await using service = await startService({ postgres: 'embedded' });
    const { url, dataDir } = service;
    document = await addDocument(url, 'kept.txt', 'kept');
    const event = { specversion: '1.0', id: 'one', source: 'test', type: 'a.b', data: { value: 7 } };
    await fetch(`${url}${EVENTS}/events`, {
      method: 'POST',
      body: JSON.stringify(event),
      headers: { ...headers, 'content-type': 'application/cloudevents+json' },
    });
    const made = await admin(['backup', folder, '--json'], dataDir);
    // Standard error has the progress of what takes its time.
    expect(made.code).toBe(0);
    expect(JSON.parse(made.out)).toMatchObject({ objects: 1, missing_objects: 0, events_waiting: 0 });

    // As long as a backup runs, a purged document's object stays.
    const purged = await addDocument(url, 'purged.txt', 'purged');
    const object = await urlOf(url, purged);
    const sql = connectTo(readConnection(join(dataDir, 'postgres')) ?? '');
    await exclusively(sql, BACKUP_LOCK, async () => {
      await ask(url, 'DELETE', `/v1/${WORKSPACE}/${purged.id}`);
      await ask(url, 'DELETE', `/v1/${WORKSPACE}/trash/${purged.id}`);
      await eventually('the deletion to be put off', async () => {
        const [job] = await sql`SELECT 1 FROM jobs WHERE last_error = 'a backup is running'`;
        return job;
      });
      expect((await fetch(object)).status).toBe(200);
    });
    await sql.end();
    await eventually(
      'the object to be deleted',
      async () => (await fetch(object)).status === 404 || undefined,
    );

    const refused = await admin(['restore', folder], dataDir);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/^admin: The data folder .* is in use by process \d+\n$/);
  }
  expect((await admin(['verify', folder], elsewhere)).code).toBe(0);
  expect(existsSync(elsewhere)).toBe(false);
  const restored = await admin(['restore', folder, '--json'], elsewhere);
  expect(restored.code).toBe(0);
  expect(JSON.parse(restored.out)).toMatchObject({ objects: 1 });
  expect(await admin(['restore', folder], elsewhere)).toMatchObject({
    code: 1,
    err: expect.stringContaining('the service is not empty: the database has a workspace'),
  });

  await using database = await testDatabase();
  {
    await using again = await startService({ dataDir: elsewhere, postgres: 'embedded' });
    await expectAll(again.url, document);
    const target = join(freshFolder(), 'target.env');
    writeFileSync(target, `DATABASE_URL=${database.url}\nDATA_DIR=${elsewhere}\n`);
    const moved = await admin(['move', '--target', target, '--json'], elsewhere);
    expect(moved.code).toBe(0);
    expect(JSON.parse(moved.out)).toMatchObject({ objects: 1, objects_copied: 0, missing_objects: 0 });
    // Until it is started with the other settings it is read-only.
    await expectAll(again.url, document);
    const change = await fetch(`${again.url}/v1/${WORKSPACE}/${document.id}`, { method: 'DELETE', headers });
    expect(change.status).toBe(503);
    expect(change.headers.get('retry-after')).not.toBeNull();
  }
  await using there = await startService({
    dataDir: elsewhere,
    environment: { DATABASE_URL: database.url },
  });
  await expectAll(there.url, document);
  await ask(there.url, 'DELETE', `/v1/${WORKSPACE}/${document.id}`);
});

test('a backup of a folder without a service is refused in one line, and nothing is made', async () => {
  const folder = freshFolder();
  const refused = await admin(['backup', join(folder, 'backup')], join(folder, 'data'));
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toMatch(/^admin: DATA_DIR: .* holds no database; .*\n$/);
  expect(existsSync(join(folder, 'data'))).toBe(false);
  expect(existsSync(join(folder, 'backup'))).toBe(false);
});
