// The disk of the data folder refuses every write for a while: what cannot be kept is refused with a 503, nothing that was
// answered is lost, /readyz says which folder, and nothing needs a restart.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Caller } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';
import { once } from '../support/once.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain, createPlainCaller } from './support/caller.ts';

const key = BOOTSTRAP_KEY;
const REFUSED = [
  'setattr',
  'truncate',
  'create',
  'mkdir',
  'unlink',
  'rename',
  'open-for-writing',
  'write',
  'allocate',
  'fsync',
] as const;

const REQUESTS_A_ROUND = 20;

/** A folder with the data of an earlier start. */
const earlier = once(async () => {
  const folder = freshFolder();
  const service = await startService({ dataDir: join(folder, 'data'), postgres: 'embedded' });
  await service[Symbol.asyncDispose]();
  return folder;
});

const missing = missingFaultyDisk();
describe.skipIf(missing !== undefined)(
  missing === undefined ? 'a disk that fails' : `a disk that fails (${missing})`,
  () => {
    test.each(['EIO', 'EROFS', 'ENOSPC'])(
      'that answers %s to every write loses nothing and is over by itself',
      async (error) => {
        await using disk = await mountFaultyDisk();
        await using database = await testDatabase();
        const environment = { DATABASE_URL: database.url };
        const said = { EIO: 'fails', EROFS: 'is read-only', ENOSPC: 'is full' }[error];
        await using service = await startService({ dataDir: join(disk.path, 'data'), environment });
        const call = createPlainCaller(service.url, 20_000);
        const clientsOf = (asked: Caller) => ({
          asked,
          metrics: createMetrics(asked, { workspace: WORKSPACE, key }),
          library: createLibrary(asked, { workspace: WORKSPACE, key }),
          chat: createChatClient(asked, { workspace: WORKSPACE, key }),
        });
        const struck = clientsOf(call);
        const { metrics, library } = struck;
        /** A starved machine may refuse what comes before the disk fails. */
        const patient = clientsOf(asksAgain(call));
        const statuses = new Set<number>();
        const taken: string[] = [];
        const act = async (clients: typeof struck): Promise<void> => {
          const event = eventOf({ source: 'failing-disk' });
          const { name } = await patient.chat.newSession();
          const answers = await Promise.all([
            clients.metrics.send(event),
            clients.chat.send(name, 'a question'),
            clients.asked('POST', '/v1/chat/completions', {
              key,
              json: { model: 'local-echo', messages: [{ role: 'user', content: 'a question' }] },
            }),
            clients.asked('POST', '/admin/api/session', { json: { key } }),
            clients.library.trash(),
          ]);
          if (answers[0]?.status === 202) taken.push(String(event['id']));
          for (const { status } of answers) statuses.add(status < 300 ? 200 : status);
        };
        const states = async () => {
          const { text } = await call('GET', '/readyz');
          return (JSON.parse(text) as { services: Record<string, { state: string; detail?: string }> })
            .services;
        };
        const upload = async (): Promise<number> => {
          const form = await library.descriptor();
          const body = new FormData();
          for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
          body.append('file', new Blob(['content']), 'upload.txt');
          return (await fetch(form.url, { method: 'POST', body })).status;
        };
        const kept = await patient.library.stored({ name: 'kept.txt' }, 'kept');
        for (let round = 0; round < 3; round++) await act(patient);
        expect([...statuses]).toEqual([200]);

        await disk.fail({ calls: REFUSED, path: 'data/**', error });
        for (let round = 0; round < 5; round++) await act(struck);
        expect([...statuses].toSorted()).toEqual([200, 503]);
        expect(await upload()).toBe(error === 'ENOSPC' ? 507 : 503);
        expect(await states()).toMatchObject({
          usage_events: {
            state: 'degraded',
            detail: expect.stringMatching(
              /usage events can't be written: the disk of DATA_DIR\/events (fails|is full)/,
            ),
          },
          object_store: {
            state: 'degraded',
            detail: `it takes no uploads: the disk of DATA_DIR/object-store ${said}`,
          },
        });
        expect(await (await fetch(await library.link(kept.id))).text()).toBe('kept');

        await disk.clear();
        await eventually('it to be over', async () =>
          Object.values(await states()).every(({ state }) => state === 'ready'),
        );
        statuses.clear();
        await act(struck);
        expect([...statuses]).toEqual([200]);
        await eventually('every event', async () => {
          const stored = (await metrics.all()).filter(({ source }) => source === 'failing-disk');
          return taken.every((id) => stored.some(({ event_id }) => event_id === id));
        });
        await library.stored({ name: 'after.txt' }, 'after');
      },
    );

    test('that hangs stops only what writes to it: other requests, and models, are answered meanwhile', async () => {
      await using disk = await mountFaultyDisk();
      await using database = await testDatabase();
      const environment = { DATABASE_URL: database.url };
      await using service = await startService({ dataDir: join(disk.path, 'data'), environment });
      const call = createPlainCaller(service.url, 20_000);
      const json = { model: 'local-echo', messages: [{ role: 'user', content: 'a question' }] };
      const ask = async () => (await call('POST', '/v1/chat/completions', { key, json })).status;
      const accounted = async () => {
        const { text } = await call('GET', `/admin/api/workspaces/${WORKSPACE}/model-usage`, { key });
        const { items } = JSON.parse(text) as { items: { requests: number }[] };
        return items.reduce((sum, { requests }) => sum + requests, 0);
      };
      expect(await ask()).toBe(200);
      await eventually('the account', async () => (await accounted()) === 1);

      await disk.hang({ calls: REFUSED, path: 'data/**' });
      const statuses: number[] = [];
      try {
        for (let round = 0; round < 25; round++) {
          statuses.push(...(await Promise.all(Array.from({ length: REQUESTS_A_ROUND }, ask))));
          for (const path of ['/healthz', '/compute?n=1']) statuses.push((await call('GET', path)).status);
          await Bun.sleep(100);
        }
      } finally {
        // A service whose disk hangs does not end.
        await disk.clear();
      }
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      await eventually('every account', async () => (await accounted()) === 1 + 25 * REQUESTS_A_ROUND);
    });

    test.each([
      ['EIO', 'fails'],
      ['EROFS', 'is read-only'],
      ['ENOSPC', 'is full'],
    ])(
      'that answers %s to the embedded database makes /readyz name it, and is over by itself',
      async (error, said) => {
        await using disk = await mountFaultyDisk({ from: await earlier() });
        await using service = await startService({ dataDir: join(disk.path, 'data'), postgres: 'embedded' });
        const call = createPlainCaller(service.url, 20_000);
        const library = createLibrary(call, { workspace: WORKSPACE, key });
        const patient = createLibrary(asksAgain(call), { workspace: WORKSPACE, key });
        const kept = await patient.stored({ name: 'kept.txt' }, 'kept');
        const write = () => call('POST', '/admin/api/session', { json: { key } });
        await eventually('a sign-in', async () => (await write()).status === 204);

        await disk.fail({ calls: REFUSED, path: 'data/postgres/**', error });
        await eventually('it to be said', async () => {
          const refused = await write();
          if (refused.status !== 204)
            expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
          const { status, text } = await call('GET', '/readyz');
          return status === 503 && text.includes(`the disk of DATA_DIR/postgres ${said}`);
        });
        expect((await call('GET', '/healthz')).status).toBe(200);

        await disk.clear();
        await eventually('it to be over', async () => {
          const { text } = await call('GET', '/readyz');
          return JSON.parse(text).status === 'ready';
        });
        expect((await library.detail(kept.id)).status).toBe(200);
        await library.stored({ name: 'after.txt' }, 'after');
      },
    );
  },
);
