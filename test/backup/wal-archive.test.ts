// Point-in-time recovery as an operator does it: a service that is killed while it archives, restores to moments, and the timelines
// that they begin.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { runAdminWith } from '../support/admin.ts';
import { eventually, freePort } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { startService } from '../support/service.ts';
import { addDocument, ask } from './over-http.ts';

/** What waits is told every five seconds, and log waits for a quarter of each second: it may be missed many times. */
const TOLD_MS_MAX = 600_000;

type Readiness = {
  services: { wal_archive: { state: string; waiting_bytes: number; base_backup_at: string | null } };
};

/** The names of the documents, the oldest first. */
async function namesIn(url: string): Promise<string[]> {
  const { items } = await ask<{ items: { name: string }[] }>(
    url,
    'GET',
    '/v1/filter/acme?order_by=name&size=100',
  );
  return items.map(({ name }) => name);
}

test('a service is restored to moments between its writes, after kills, twice, and to the end of its archive', async () => {
  const dataDir = freshFolder();
  const archive = { WAL_ARCHIVE_BUCKET: 'wal', WAL_ARCHIVE_TIMEOUT_SECONDS: '1' };
  const start = (environment: Record<string, string> = {}) =>
    startService({ dataDir, postgres: 'embedded', environment: { ...archive, ...environment } });
  const admin = async (...words: string[]) => {
    const { code, out, err } = await runAdminWith({ DATA_DIR: dataDir, ...archive }, [
      'wal-archive',
      ...words,
      '--json',
    ]);
    return { code, err, report: out === '' ? {} : (JSON.parse(out) as Record<string, unknown>) };
  };
  let aside = 0;
  const restore = (...words: string[]) => {
    aside += 1;
    renameSync(join(dataDir, 'postgres/cluster'), join(dataDir, `postgres/before-${aside}`));
    return admin('restore', ...words);
  };
  let [between, purged] = ['', { id: '' }];
  {
    await using service = await start({ PROCESSES: '2', PORT: `${freePort()}` });
    const { url } = service;
    // Whichever process answers tells of what their owner does.
    await eventually('the first base backup', async () => {
      const { services } = (await (await fetch(`${url}/readyz`)).json()) as Readiness;
      return services.wal_archive.base_backup_at ?? undefined;
    });
    await addDocument(url, 'first', 'first');
    purged = await addDocument(url, 'purged', 'purged');
    const at = Date.now() + 1;
    between = new Date(at).toISOString();
    await eventually('a later moment', () => Date.now() > at || undefined);
    await addDocument(url, 'second', 'second');
    await ask(url, 'DELETE', `/v1/acme/${purged.id}`);
    await ask(url, 'DELETE', `/v1/acme/trash/${purged.id}`);
    expect((await admin('restore')).err).toContain('is in use by process');
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/^atrium_wal_archive_archived_total [1-9]/m);
    for (const name of ['base_backup_age_seconds', 'given_up_total', 'lag_seconds', 'waiting_bytes'])
      expect(metrics).toMatch(new RegExp(`^atrium_wal_archive_${name} \\d`, 'm'));
    await eventually(
      'log that waits to be told',
      async () => {
        await addDocument(url, 'temporary', 'temporary');
        const { services } = (await (await fetch(`${url}/readyz`)).json()) as Readiness;
        return services.wal_archive.waiting_bytes > 0 || undefined;
      },
      TOLD_MS_MAX,
    );
    // As soon as something is to be archived: what was not acknowledged is sent by the next start.
    await eventually('log that waits', async () => {
      await addDocument(url, 'temporary', 'temporary');
      const status = readdirSync(join(dataDir, 'postgres/cluster/pg_wal/archive_status'));
      return status.some((name) => name.endsWith('.ready')) || undefined;
    });
    service.child.kill('SIGKILL');
    await service.child.exited;
  }
  {
    await using service = await start();
    expect(await namesIn(service.url)).toContain('second');
    expect(await admin('base')).toMatchObject({
      code: 0,
      report: { id: expect.stringMatching(/-00000001/) },
    });
  }
  expect(await admin('verify')).toMatchObject({ code: 0, report: { gaps: 0, timeline: 1 } });
  expect(await admin('show')).toMatchObject({ code: 0, report: { gaps: 0, timeline: 1 } });
  expect((await admin('restore', '--at', between)).err).toContain('move it away first');

  const restored = await restore('--at', between);
  // The file of a document that was purged since is gone, which is told.
  expect(restored).toMatchObject({ code: 1, report: { timeline: 2, missing_objects: 1, gap_after: null } });
  expect(restored.err).toContain('which were purged since');
  expect(readFileSync(join(dataDir, 'missing-objects.txt'), 'utf8')).toMatch(/^acme\/[^\n]+\n$/);
  {
    await using service = await start();
    expect(await namesIn(service.url)).toEqual(['first', 'purged']);
    await addDocument(service.url, 'third', 'third');
  }
  // The same moment again: it was on the first timeline.
  expect(await restore('--at', between)).toMatchObject({
    code: 1,
    report: { timeline: 3, missing_objects: 1 },
  });
  // No service has run on what that made, so that the end is still that of the second timeline.
  expect(await restore()).toMatchObject({ code: 1, report: { timeline: 4, missing_objects: 1 } });
  const audit = await runAdminWith({ DATA_DIR: dataDir, ...archive }, ['audit', 'service', '--json']);
  const { items } = JSON.parse(audit.out) as { items: { action: string }[] };
  // The one row of the restore before, which the service on the second timeline went on with, and the one of this.
  expect(items.filter(({ action }) => action === 'service.restore-to')).toHaveLength(2);
  expect((await admin('restore', '--at', 'yesterday')).code).toBe(2);
});
