import { beforeAll, expect, test } from 'bun:test';
import postgres from 'postgres';
import { md5 } from '../../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../../acceptance/support/metrics.ts';
import { eventually } from '../../support/child.ts';
import { startService, WORKSPACE } from '../../support/service.ts';
import { type Endpoints, readEndpoints } from '../support/endpoints.ts';
import { expectRefusal, isRefusal } from '../support/refusals.ts';
import {
  ANSWER_MS_MAX,
  becomesReady,
  confirmPatiently,
  createClient,
  download,
  EVERY_SCOPE,
  readiness,
  type Setting,
} from '../support/setting.ts';

/** What needs no database, or not while the key and the document are at hand. */
const MAY_ANSWER = new Set([
  'compute.fibonacci',
  'service.root',
  'health.live',
  'health.ready',
  'health.metrics',
  'admin.status',
  'access.open-session',
  'access.close-session',
  'documents.presign',
  'documents.download',
  // Events wait in the buffer.
  'metrics.ingest',
  // Keys that were good before will do.
  'access.read-session',
  // What the process has in memory.
  'models.state',
  'admin.settings',
  // The result of a tool says it in a sentence.
  'mcp.message',
  // No provider is configured, which they say before they need anything.
  'access.begin-sign-on',
  'access.finish-sign-on',
  'access.end-sign-on',
  ...['chat', 'completions', 'images', 'embeddings', 'list', 'find'].flatMap((name) => [
    `models.${name}`,
    `models.${name}-at-root`,
  ]),
  'models.embed-for-workspace',
]);

/**
 * By the clock on the wall, as the cache counts, which keeps a key of which it hears nothing for half a minute. A process hears
 * again, or knows that it does not, after some seconds; the rest is for a busy machine.
 */
const REFUSED_WITHIN_MS = 20_000;

export function describeDatabaseOutages(setting: () => Setting): void {
  let endpoints: Endpoints;
  beforeAll(async () => {
    endpoints = await readEndpoints(setting().service.url);
  });

  const outages = {
    hangs: { begin: () => setting().postgres.pause(), end: () => setting().postgres.resume() },
    'is gone': { begin: () => setting().postgres.kill(), end: () => setting().postgres.start() },
  };
  for (const [state, { begin, end }] of Object.entries(outages)) {
    test(`while the database ${state} every answer comes in time, and nothing is lost when it is back`, async () => {
      const { client, service } = setting();
      const { library } = client;
      await becomesReady(client);
      // Made early: the news of its making lets a cache forget it once.
      const { key } = await client.people.newKey({ scopes: EVERY_SCOPE });
      const kept = await library.stored({ name: `kept ${state}.txt`, tags: ['kept'] }, 'kept');
      const archived = await library.stored();
      await library.archive(archived.id);
      const binned = await library.stored();
      const sacrificed = await library.stored();
      await library.bin(binned.id);
      const pending = await library.uploaded('pending');
      const pendingName = `pending while it ${state}.txt`;
      const parameters = { workspace_id: WORKSPACE, file_id: sacrificed.id, document: sacrificed.id };
      const fresh = createClient(service, key);
      await fresh.library.link(sacrificed.id);
      const metrics = createMetrics(fresh.call, { workspace: WORKSPACE, key });
      await begin();
      try {
        const confirm = { temp_key: pending, document_metadata: { name: pendingName } };
        const [visits, refused, ready, live, descriptor, taken] = await Promise.all([
          endpoints.visitAll({ key, parameters, withinMs: ANSWER_MS_MAX }),
          library.confirm(confirm),
          readiness(client),
          client.call('GET', '/healthz'),
          fresh.library.presign(),
          metrics.send(eventOf({ source: state })),
        ]);
        for (const visit of visits) {
          if (!MAY_ANSWER.has(visit.operationId)) expectRefusal(visit, 'database');
          else if (isRefusal(visit) && visit.operationId !== 'health.ready') expectRefusal(visit, 'database');
          else if (visit.operationId !== 'health.ready' && visit.status !== 501)
            expect(visit.status).toBeLessThan(500);
        }
        expectRefusal(refused, 'database');
        // The key was vouched for a moment ago, and nothing else is needed.
        expect(descriptor.status).toBe(201);
        expect(taken.status).toBe(202);
        expect(ready).toMatchObject({ code: 503, status: 'unavailable' });
        expect(ready.services['postgres']?.state).toBe('down');
        expect(ready.services['object_store']?.state).toBe('ready');
        expect(live.status).toBe(200);
      } finally {
        await end();
      }
      await becomesReady(client);
      expect((await metrics.stored(state, 1)).length).toBe(1);
      expect(await library.read(kept.id)).toEqual(kept);
      expect((await library.archived()).items.map(({ id }) => id)).toContain(archived.id);
      expect((await library.binned()).items.map(({ id }) => id)).toContain(binned.id);
      expect(await download(client, await confirmPatiently(client, pending, pendingName))).toBe(
        md5('pending'),
      );
    });
  }

  test('a database that has become read-only still answers reads, and is 503 for what would write', async () => {
    const { client, service, postgres: server } = setting();
    await becomesReady(client);
    const { key } = await client.people.newKey({ scopes: EVERY_SCOPE });
    const kept = await client.library.stored({ name: 'kept when read-only.txt' });
    const fresh = createClient(service, key);
    const pending = await client.library.uploaded('pending');
    // As a failover does it: connections are lost, and who comes back finds a standby.
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
    const setReadOnly = async (state: 'on' | 'off'): Promise<void> => {
      await sql`set default_transaction_read_only = off`;
      const name = new URL(server.url).pathname.slice(1);
      await sql.unsafe(`alter database ${name} set default_transaction_read_only = ${state}`);
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`;
    };
    try {
      await setReadOnly('on');
      await eventually('reads', async () => (await fresh.library.detail(kept.id)).status === 200);
      const parameters = { workspace_id: WORKSPACE, file_id: kept.id, document: kept.id };
      const visits = await endpoints.visitAll({ key, parameters, withinMs: ANSWER_MS_MAX });
      for (const visit of visits)
        if (isRefusal(visit) && visit.operationId !== 'health.ready') expectRefusal(visit, 'database');
      const failed = visits.filter(({ status }) => status >= 500 && status !== 501 && status !== 503);
      expect(failed.map(({ operationId, text }) => `${operationId} ${text}`)).toEqual([]);
      const confirm = { temp_key: pending, document_metadata: { name: 'p.txt' } };
      for (const refused of [
        await fresh.library.confirm(confirm),
        await fresh.library.patch(kept.id, { tags: ['x'] }),
        await fresh.library.bin(kept.id),
      ])
        expectRefusal(refused, 'database');
      expect((await fresh.library.detail(kept.id)).status).toBe(200);
    } finally {
      await setReadOnly('off');
      await sql.end({ timeout: 1 });
    }
    await becomesReady(client);
    expect(await client.library.read(kept.id)).toEqual(kept);
    await confirmPatiently(client, pending);
  });

  test('a key is refused at once after its revocation, also while no news of changes comes through', async () => {
    const { client, service, environment, postgres: server } = setting();
    await using other = await startService({ environment });
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
    try {
      for (let round = 0; round < 5; round++) {
        await becomesReady(createClient(other));
        const { id, key } = await client.people.newKey();
        const elsewhere = createClient(other, key).library;
        expect((await elsewhere.presign()).status).toBe(201);
        // Both may still be waiting to connect again after the round before.
        await eventually('a listening connection to be cut', async () => {
          const cut = await sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid() and query ~* '^(listen |select pg_notify)'`;
          return cut.length > 0;
        });
        expect((await client.people.revoke(id)).status).toBe(204);
        const revokedAt = performance.now();
        await eventually('the key to be refused', async () => (await elsewhere.presign()).status === 401);
        expect(performance.now() - revokedAt).toBeLessThan(REFUSED_WITHIN_MS);
      }
    } finally {
      await sql.end({ timeout: 1 });
    }
    await becomesReady(createClient(service));
  });
}
