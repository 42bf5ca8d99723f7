// The disk of a database elsewhere is full, for real: reads work, and so do changes that fit into what the server has on its
// disk already; others are refused.

import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createPeople } from '../acceptance/support/people.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { mountDisk } from '../support/small-disk.ts';
import { createPlainCaller } from './support/caller.ts';
import type { Readiness } from './support/setting.ts';

const key = BOOTSTRAP_KEY;
const disk = mountDisk('400m');
/** Times that /readyz is asked while the disk stays full. */
const LOOKS = 20;
/** Of a message, so that a page of the table is soon full. */
const TEXT = 'x'.repeat(2000);
/** What frees room on the server's disk by itself: old segments of its log at a checkpoint, pages of its tables. */
const SETTINGS = { checkpoint_timeout: '1d', max_wal_size: '1GB', autovacuum: 'off' };

test.skipIf(disk === undefined)(
  `/readyz names a database's full disk for as long as it lasts${disk === undefined ? ' (no file system can be mounted here)' : ''}`,
  async () => {
    if (disk === undefined) return;
    await using begun = new AsyncDisposableStack();
    begun.defer(disk.remove);
    const directory = join(disk.path, 'postgres');
    mkdirSync(directory);
    const postgres = await startPostgresServer({ directory, settings: SETTINGS });
    begun.defer(postgres.stop);
    begun.defer(disk.free);
    const service = begun.use(await startService({ environment: { DATABASE_URL: postgres.url } }));
    const call = createPlainCaller(service.url, 20_000);
    const chat = createChatClient(call, { workspace: WORKSPACE, key });
    const people = createPeople(call, { workspace: WORKSPACE, adminKey: key });
    const state = async () => {
      const { status, text } = await call('GET', '/readyz');
      const { status: overall, services } = JSON.parse(text) as Readiness;
      return { status, overall, postgres: services['postgres'] };
    };
    const ready = { status: 200, overall: 'ready', postgres: { state: 'ready' } };
    const { name } = await chat.newSession();
    const { key: reader } = await people.newKey();
    await eventually('readiness', async () => Bun.deepEquals(await state(), ready));

    disk.fill();
    // A starved machine may refuse one for its time; a full disk is said with the refusal, and lasts.
    await eventually(
      'a change to be refused',
      async () => (await chat.send(name, TEXT)).status === 503 && (await state()).overall === 'degraded',
    );
    for (let look = 0; look < LOOKS; look++) {
      expect(await state()).toMatchObject({
        status: 200,
        overall: 'degraded',
        postgres: { state: 'degraded', detail: 'its disk is full: what needs space there is refused' },
      });
      // A starved machine may refuse one for its time; a disk that refuses reads refuses all of them.
      await eventually('a read', async () => {
        const { status } = await call('GET', `/v1/filter/${WORKSPACE}`, { key: reader });
        return status === 200;
      });
    }

    disk.free();
    await eventually('it to be over', async () => Bun.deepEquals(await state(), ready));
    await eventually('a change to be taken', async () => (await chat.send(name, TEXT)).status === 200);
  },
);
