// What the mirror does when the search server or another process fails it, against a fake of the server.

import { expect, test } from 'bun:test';
import { createMirrorRetirement } from '../../../src/documents/search/meilisearch/mirror.ts';
import { eventually } from '../../support/child.ts';
import { silentLog } from '../../support/database.ts';
import { startFakeMeilisearch } from '../../support/fake-meilisearch.ts';
import { type MirrorSetting, mirrorSetting } from './mirror-setting.ts';

async function open() {
  const fake = startFakeMeilisearch();
  const setting = await mirrorSetting(fake);
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  return {
    fake,
    setting,
    mirror,
    async [Symbol.asyncDispose]() {
      fake.release();
      await setting[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}

const queued = async ({ sql }: MirrorSetting): Promise<{ id: string; refusal: string | null }[]> => [
  ...(await sql<
    { id: string; refusal: string | null }[]
  >`SELECT document_id AS id, refusal FROM search_outbox`),
];
const ready = async ({ sql }: MirrorSetting): Promise<string | undefined> =>
  (await sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror WHERE ready`)[0]?.uid;
const expectEqual = async (setting: MirrorSetting): Promise<void> =>
  expect(await setting.held()).toEqual(await setting.expected());
const endWriter = ({ sql }: MirrorSetting) => sql`
  SELECT pg_terminate_backend(pid) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

test('the figures of a mirror have the names that dashboards and alerts ask for', async () => {
  await using opened = await open();
  expect(opened.mirror.metrics.map(({ name }) => name)).toEqual([
    'atrium_search_outbox_documents',
    'atrium_search_outbox_lag_seconds',
  ]);
});

test('nothing leaves the outbox before the server has done it', async () => {
  await using opened = await open();
  const { fake, setting, mirror } = opened;
  fake.hold();
  const before = fake.tasks.length;
  const id = await setting.library.insert();
  await eventually('the document to be sent', () => fake.tasks.length > before);
  await setting.library.patch(id, 'changed meanwhile');
  expect(await queued(setting)).toEqual([{ id, refusal: null }]);
  fake.release();
  await setting.settle(mirror);
  await expectEqual(setting);
});

test('a document that the server refuses is found among others, kept back, and sent again once it changes', async () => {
  await using opened = await open();
  const { fake, setting } = opened;
  const warnings: string[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, text: string) => warnings.push(JSON.stringify([fields, text])),
  };
  await setting.stop(opened.mirror);
  const ids = await Promise.all(
    Array.from({ length: 37 }, () => setting.library.insert({ summary: 'secret' })),
  );
  const [bad = ''] = ids;
  fake.poison.add(bad);
  const mirror = setting.open({ log });
  await setting.start(mirror);
  await setting.settle(mirror);
  expect(await queued(setting)).toEqual([{ id: bad, refusal: 'invalid_document' }]);
  expect([...(await setting.held()).keys()].sort()).toEqual(ids.slice(1).sort());
  expect(warnings.filter((line) => line.includes(bad))).toHaveLength(1);
  expect(warnings.join()).not.toMatch(/secret|quotes/);
  expect(await mirror.state()).toMatchObject({ state: 'ready', refused: 1, waiting: 0 });

  fake.poison.clear();
  await setting.library.patch(bad, 'better');
  await setting.settle(mirror);
  await expectEqual(setting);
});

test.each(['no_space_left_on_device', 'internal'])(
  'tasks that fail with %s, lost answers and absences delay changes and lose none',
  async (code) => {
    await using opened = await open();
    const { fake, setting, mirror } = opened;
    const ids: string[] = [];
    for (let count = 0; count < 120; count++) {
      if (count % 20 === 5) fake.failTasks(1, code);
      if (count % 20 === 10) fake.loseAnswers(1);
      if (count % 20 === 15) fake.away = true;
      await setting.library.changeAtRandom(ids);
      await Bun.sleep(5);
      fake.away = false;
    }
    await setting.sql`UPDATE search_outbox SET refusal = NULL`;
    await setting.settle(mirror);
    await expectEqual(setting);
  },
);

test('a second process takes over, after what the first had sent, and nothing older is left', async () => {
  await using opened = await open();
  const { fake, setting } = opened;
  const second = setting.open();
  await setting.start(second);
  const id = await setting.library.insert();
  await setting.settle(second);
  fake.hold();
  const before = fake.tasks.length;
  await setting.library.patch(id, 'old');
  await eventually('the old state to be sent', () => fake.tasks.length > before);
  await endWriter(setting);
  await setting.library.patch(id, 'new');
  fake.release();
  await setting.settle(second);
  await expectEqual(setting);
  expect((await setting.held()).get(id)).toMatchObject({ summary: 'new' });
});

test('an index whose filling is cut off is not asked before it is complete', async () => {
  await using opened = await open();
  const { fake, setting, mirror } = opened;
  for (let count = 0; count < 10; count++) await setting.library.insert();
  await setting.settle(mirror);
  const first = await ready(setting);
  await setting.stop(mirror);
  await setting.sql`UPDATE search_mirror SET version = 'an older one'`;
  fake.hold();
  const before = fake.tasks.length;
  const cut = setting.open();
  await setting.start(cut);
  for (const [step, name] of ['dropped', 'created', 'given its settings'].entries()) {
    await eventually(`the index to be ${name}`, () => fake.tasks.length === before + step + 1);
    if (step < 2) fake.releaseOne();
  }
  expect(await ready(setting)).toBeUndefined();
  await setting.stop(cut);
  const gone = await setting.library.insert();
  await setting.library.purge(gone);
  const next = setting.open();
  await setting.start(next);
  await Bun.sleep(100);
  expect(await ready(setting)).toBeUndefined();
  fake.release();
  await setting.settle(next);
  expect(await ready(setting)).not.toBe(first);
  await expectEqual(setting);
});

test('a new index is filled through the outbox: each document waits there until the server has it, a refused one too', async () => {
  await using opened = await open();
  const { fake, setting, mirror } = opened;
  const ids = await Promise.all(Array.from({ length: 10 }, () => setting.library.insert()));
  const [bad = ''] = ids;
  fake.poison.add(bad);
  await setting.library.patch(bad, 'refused');
  await setting.settle(mirror);
  expect(await queued(setting)).toEqual([{ id: bad, refusal: 'invalid_document' }]);
  fake.poison.clear();
  const before = fake.tasks.length;
  fake.hold();
  const rebuilt = mirror.reindex(() => undefined);
  for (const [step, name] of ['dropped', 'created', 'given its settings'].entries()) {
    await eventually(`the index to be ${name}`, () => fake.tasks.length === before + step + 1);
    fake.releaseOne();
  }
  await eventually('all documents to be queued', async () => (await queued(setting)).length === ids.length);
  expect((await queued(setting)).every(({ refusal }) => refusal === null)).toBe(true);
  fake.release();
  await rebuilt;
  await setting.settle(mirror);
  await expectEqual(setting);
  expect(await queued(setting)).toEqual([]);
});

test('an index is made anew when it lacks nothing: not while a part of the documents still waits to be sent', async () => {
  await using opened = await open();
  const { fake, setting, mirror } = opened;
  for (let count = 0; count < 3; count++) await setting.library.insert();
  await setting.settle(mirror);
  const first = await ready(setting);
  // Two of them are as much as is sent at once.
  await setting.sql`UPDATE documents SET summary = repeat('x', 11000000)`;
  const before = fake.tasks.length;
  fake.hold();
  const left = mirror.reindex(() => undefined).then(() => queued(setting));
  for (const [step, name] of ['dropped', 'created', 'given its settings', 'filled'].entries()) {
    await eventually(`the index to be ${name}`, () => fake.tasks.length > before + step);
    fake.releaseOne();
  }
  await eventually('a part to be there', async () => (await queued(setting)).length === 1);
  expect(await ready(setting)).not.toBe(first);
  await Promise.race([left, Bun.sleep(1500)]);
  fake.release();
  expect(await left).toEqual([]);
  await expectEqual(setting);
});

test('a change whose transaction began before the index was registered is in it', async () => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const id = await setting.library.insert();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const writing = setting.sql.begin(async (tx) => {
    await tx`UPDATE documents SET status_before_bin = status, status = 'deleted', deleted_at = now() WHERE id = ${id}`;
    await mayCommit;
  });
  await eventually('the transaction to write', async () => {
    const [row] = await setting.sql<{ found: boolean }[]>`
        SELECT EXISTS (
          SELECT FROM pg_locks WHERE relation = 'document_search'::regclass AND mode = 'RowExclusiveLock'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS found`;
    return row?.found;
  });
  const mirror = setting.open();
  await setting.start(mirror);
  await eventually('the index to be prepared', () => fake.tasks.length >= 2);
  await Bun.sleep(200);
  expect(await ready(setting)).toBeUndefined();
  commit();
  await writing;
  await setting.settle(mirror);
  expect((await setting.held()).get(id)).toMatchObject({ class: 2 });
  await expectEqual(setting);
});

test('a server that has forgotten everything is filled again', async () => {
  await using opened = await open();
  const { fake, setting, mirror } = opened;
  for (let count = 0; count < 10; count++) await setting.library.insert();
  await setting.settle(mirror);
  const before = await ready(setting);
  fake.wipe();
  await setting.library.insert();
  await eventually('another index to be ready', async () => {
    const now = await ready(setting);
    return now !== undefined && now !== before;
  });
  await setting.settle(mirror);
  await expectEqual(setting);
});

test('a start without a search server gives the index up, unless another process feeds one', async () => {
  await using opened = await open();
  const { setting, mirror } = opened;
  const give = async (): Promise<void> => {
    const job = createMirrorRetirement({ sql: setting.sql, log: silentLog });
    await job.settle?.();
    await job.stop();
  };
  await give();
  expect(await ready(setting)).toBeDefined();
  await setting.stop(mirror);
  await setting.library.insert();
  expect(await queued(setting)).toHaveLength(1);
  // The database frees the lock of one that has ended a moment later.
  await eventually('the index to be given up', async () => {
    await give();
    return (await ready(setting)) === undefined;
  });
  await setting.library.insert();
  expect(await queued(setting)).toHaveLength(0);
});
