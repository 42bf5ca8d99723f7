// The service's own events are there exactly when their cause is: the event buffer has no part in it, nor has the disk of the
// data folder, nor what becomes of the process after the answer.

import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expectStatus } from '../acceptance/support/caller.ts';
import { createMetrics } from '../acceptance/support/metrics.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { missingNats, startNats } from '../support/nats-server.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { mountDisk } from '../support/small-disk.ts';
import { createPlainCaller } from './support/caller.ts';

const key = BOOTSTRAP_KEY;

/** Signs in, and adds a person. */
async function actOnPeople(url: string, email: string): Promise<void> {
  const call = createPlainCaller(url, 20_000);
  expectStatus(await call('POST', '/admin/api/session', { json: { key } }), 204);
  const users = `/admin/api/workspaces/${WORKSPACE}/users`;
  expectStatus(await call('POST', users, { key, json: { email } }), 201);
}

const typesOf = async (url: string): Promise<string[]> => {
  const metrics = createMetrics(createPlainCaller(url, 20_000), { workspace: WORKSPACE, key });
  return (await metrics.all()).filter(({ source }) => source === 'atrium').map(({ type }) => type);
};

const PEOPLE = ['auth.user.create', 'auth.user.login'];

async function onPostgres(run: (postgres: PostgresUnderTest) => Promise<void>): Promise<void> {
  const postgres = await startPostgresServer();
  try {
    await run(postgres);
  } finally {
    await postgres.stop();
  }
}

const disk = mountDisk('48m');

test.skipIf(disk === undefined)(
  disk === undefined
    ? 'on a full disk: no file system can be mounted here'
    : 'on a full disk, by a process that is killed after its answers: once each after the next start',
  () =>
    onPostgres(async (postgres) => {
      if (disk === undefined) return;
      const dataDir = join(disk.path, 'data');
      mkdirSync(dataDir, { mode: 0o700 });
      const start = () => startService({ dataDir, environment: { DATABASE_URL: postgres.url } });
      try {
        const killed = await start();
        disk.fill();
        await actOnPeople(killed.url, 'full@example.com');
        killed.child.kill('SIGKILL');
        await killed.child.exited;
        disk.free();
        await using service = await start();
        await eventually('the events', async () => (await typesOf(service.url)).length >= PEOPLE.length);
        expect((await typesOf(service.url)).toSorted()).toEqual(PEOPLE);
      } finally {
        disk.free();
        disk.remove();
      }
    }),
);

const missing = missingNats();

test.skipIf(missing !== undefined)(
  `while JetStream is away: at once, and once each after its return${missing === undefined ? '' : ` (${missing})`}`,
  () =>
    onPostgres(async (postgres) => {
      await using nats = await startNats();
      await using service = await startService({
        environment: { DATABASE_URL: postgres.url, NATS_URL: nats.url },
      });
      await nats.kill();
      await actOnPeople(service.url, 'away@example.com');
      const chat = createChatClient(createPlainCaller(service.url, 20_000), { workspace: WORKSPACE, key });
      const { name } = await chat.newSession();
      await chat.ask(name, 'while it is away');
      const wanted = [...PEOPLE, 'chat.create', 'messages.rag.persona.new', 'messages.user.new'];
      await eventually('the events', async () => (await typesOf(service.url)).length >= wanted.length);
      expect((await typesOf(service.url)).toSorted()).toEqual(wanted);
      await nats.start();
      await eventually('the buffer to be back', async () => {
        const answer = await fetch(`${service.url}/readyz`);
        const { services } = (await answer.json()) as { services: Record<string, { state: string }> };
        return services['usage_events']?.state !== 'down';
      });
      expect((await typesOf(service.url)).toSorted()).toEqual(wanted);
    }),
);
