import { beforeAll, expect, test } from 'bun:test';
import { md5 } from '../../acceptance/support/library.ts';
import { eventually } from '../../support/child.ts';
import { startRealStore } from '../../support/object-stores.ts';
import { startService, WORKSPACE } from '../../support/service.ts';
import { configuredBucket, listKeys } from '../support/bucket.ts';
import { type Endpoints, readEndpoints } from '../support/endpoints.ts';
import { openGate } from '../support/gate.ts';
import { expectRefusal } from '../support/refusals.ts';
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

export function describeStoreOutages(setting: () => Setting): void {
  let endpoints: Endpoints;
  beforeAll(async () => {
    endpoints = await readEndpoints(setting().service.url);
  });

  const outages = {
    hangs: { begin: () => setting().store.pause(), end: () => setting().store.resume() },
    'is gone': { begin: () => setting().store.kill(), end: () => setting().store.start() },
  };
  for (const [state, { begin, end }] of Object.entries(outages)) {
    test(`while the store ${state} only confirms are refused, and all is well when it is back`, async () => {
      const { client, store } = setting();
      const { library } = client;
      const kept = await library.stored({ name: `kept ${state}.txt` }, 'kept');
      const purged = await library.stored({}, 'purged');
      const sacrificed = await library.stored({}, 'sacrificed');
      const pending = await library.uploaded('pending');
      const { key } = await client.people.newKey({ scopes: EVERY_SCOPE });
      const parameters = { workspace_id: WORKSPACE, file_id: sacrificed.id, document: sacrificed.id };
      await begin();
      try {
        const confirm = { temp_key: pending, document_metadata: { name: 'pending.txt' } };
        const [visits, refused, ready, live] = await Promise.all([
          endpoints.visitAll({ key, parameters, withinMs: ANSWER_MS_MAX }),
          library.confirm(confirm),
          readiness(client),
          client.call('GET', '/healthz'),
        ]);
        // 501: no model that makes images is configured.
        const unavailable = visits.filter(({ status }) => status >= 500 && status !== 501);
        expect(unavailable.map(({ operationId }) => operationId)).toEqual(['documents.confirm']);
        for (const answer of [refused, ...unavailable]) expectRefusal(answer, 'object store');
        expect(ready).toMatchObject({ code: 200, status: 'degraded' });
        expect(ready.services['object_store']?.state).toBe('down');
        expect(ready.services['postgres']?.state).toBe('ready');
        expect(live.status).toBe(200);
        expect(await library.read(kept.id)).toEqual(kept);
        expect((await library.bin(purged.id)).status).toBe(204);
        expect((await library.purge(purged.id)).status).toBe(204);
      } finally {
        await end();
      }
      await becomesReady(client);
      expect(await download(client, await confirmPatiently(client, pending))).toBe(md5('pending'));
      expect(await download(client, kept.id)).toBe(md5('kept'));
      const bucket = configuredBucket(store.environment);
      await eventually("the purged document's object to be deleted", async () => {
        const keys = await listKeys(bucket);
        return !keys.some((each) => each.includes(purged.id)) && keys.some((each) => each.includes(kept.id));
      });
    });
  }

  test('a store that falls silent amid a confirm does not hold the answer up', async () => {
    const { environment, store } = setting();
    const direct = store.environment['S3_ENDPOINT'] ?? '';
    await using gate = await openGate(direct);
    await using service = await startService({
      environment: { ...environment, S3_ENDPOINT: gate.url, S3_PUBLIC_ENDPOINT: direct },
    });
    const client = createClient(service);
    const pending = await client.library.uploaded('held up');
    gate.holdCopies();
    const confirm = { temp_key: pending, document_metadata: { name: 'held up.txt' } };
    expectRefusal(await client.library.confirm(confirm), 'object store');
    gate.open();
    expect(await download(client, await confirmPatiently(client, pending))).toBe(md5('held up'));

    const lost = await client.library.uploaded('lost answer');
    gate.loseAnswersToCopies(2);
    expect(await download(client, await confirmPatiently(client, lost))).toBe(md5('lost answer'));
  });

  test('a service that starts before its store uses it, and makes the bucket, once it is there', async () => {
    const { environment } = setting();
    const store = await startRealStore('minio');
    try {
      await store.kill();
      await using service = await startService({ environment: { ...environment, ...store.environment } });
      const client = createClient(service);
      expect(await readiness(client)).toMatchObject({ code: 200, status: 'degraded' });
      await store.start();
      await becomesReady(client);
      const { id } = await client.library.stored({}, 'late');
      expect(await download(client, id)).toBe(md5('late'));
    } finally {
      await store.stop();
    }
  });
}
