// A move copies the objects while changes go on, and the rest while the source refuses them: nothing is lost, wherever it is cut off.

import { expect, test } from 'bun:test';
import { openGate } from '../../src/backup/gate.ts';
import { moveService } from '../../src/backup/move.ts';
import { isUnavailable } from '../../src/infra/postgres/client.ts';
import { connectTo } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { describeRows, fillTables } from './filled-tables.ts';
import { addDocument, contentOf, quiet, type Service, startStoreOfBackups } from './fixture.ts';

const store = await shared(startStoreOfBackups());

type Differing = { get?: Service['transfer']['get']; awaitEvents?: () => Promise<number> };

/** By connections of its own, as the command has them. */
async function moveTo(source: Service, target: Service, differing: Differing = {}) {
  const [from, to] = [connectTo(source.database.url), connectTo(target.database.url)];
  try {
    return await moveService({
      source: { sql: from, store: { ...source.transfer, get: differing.get ?? source.transfer.get } },
      target: { sql: to, store: target.transfer },
      awaitEvents: differing.awaitEvents ?? (async () => 0),
      progress: quiet,
    });
  } finally {
    await Promise.all([from.end(), to.end()]);
  }
}

/** In life each database has an identity of its own, and these are copies of one. */
async function startEmpty(): Promise<Service> {
  const service = await store.start();
  await service.database.sql`UPDATE documents_identity SET id = gen_random_uuid()`;
  return service;
}

/** Adds documents one after the other until that is refused; returns the keys of those that were acknowledged. */
async function addUntilRefused(service: Service): Promise<string[]> {
  const keys: string[] = [];
  for (;;) {
    try {
      keys.push(await addDocument(service));
      // Each one more takes its time later.
      await Bun.sleep(50);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return keys;
    }
  }
}

test('every row and every object arrives, also what is added until the last step, and the source refuses changes', async () => {
  await using source = await startEmpty();
  await using target = await startEmpty();
  const first = await addDocument(source, new Uint8Array(3_000_000));
  await fillTables(source.database.sql);
  let adding: Promise<string[]> | undefined;
  const report = await moveTo(source, target, {
    // The first object has been copied, and the last step comes next.
    async awaitEvents() {
      const next = await addDocument(source);
      adding = addUntilRefused(source).then((keys) => [next, ...keys]);
      return 0;
    },
  });
  const added = (await adding) ?? [];
  // The answer to the last one may have been lost.
  const rows = await source.database.sql<{ key: string }[]>`SELECT object_key AS key FROM documents`;
  const keys = rows.map(({ key }) => key);
  expect(keys).toEqual(expect.arrayContaining([first, ...added]));
  expect(report).toMatchObject({
    objects: keys.length,
    objects_copied: keys.length,
    missing_objects: 0,
    objects_copied_last: keys.length - 1,
  });
  expect(await describeRows(target.database.sql)).toEqual(await describeRows(source.database.sql));
  for (const key of keys) {
    const content = await contentOf(source, key);
    expect(content).toBeDefined();
    expect(await contentOf(target, key)).toEqual(content);
  }
  await expect(addDocument(source)).rejects.toThrow('read-only');
  // As after a kill that came when all was done.
  expect(await moveTo(source, target)).toMatchObject({
    tables: report.tables,
    rows: report.rows,
    objects: keys.length,
    objects_copied: 0,
    missing_objects: 0,
  });
  await addDocument(target);
  await expect(moveTo(source, target)).rejects.toThrow('it or the source has changed');
});

test('a target that is complete is refused once its source takes changes again', async () => {
  await using source = await startEmpty();
  await using target = await startEmpty();
  await fillTables(source.database.sql);
  await moveTo(source, target);
  const admin = connectTo(source.database.url);
  await openGate(admin).finally(() => admin.end());
  await expect(moveTo(source, target)).rejects.toThrow('it or the source has changed');
});

test('a move that fails in its last step lets the source take changes again, and can be made again', async () => {
  await using source = await startEmpty();
  await using target = await startEmpty();
  await addDocument(source);
  await fillTables(source.database.sql);
  const before = await describeRows(target.database.sql);
  let reads = 0;
  const failing = moveTo(source, target, {
    // Added when the other object has been copied, so that it is left for the last step.
    async awaitEvents() {
      await addDocument(source);
      return 0;
    },
    async get(...given) {
      if (++reads > 1) throw new Error('cut off');
      return await source.transfer.get(...given);
    },
  });
  await expect(failing).rejects.toThrow('cut off');
  expect(await describeRows(target.database.sql)).toEqual(before);
  await addDocument(source);
  expect(await moveTo(source, target)).toMatchObject({ objects: 3, objects_copied: 2 });
  expect(await describeRows(target.database.sql)).toEqual(await describeRows(source.database.sql));
});

test('after a move that was killed in its last step it can be run again, and the source takes changes again by one call', async () => {
  await using source = await startEmpty();
  await using target = await startEmpty();
  await addDocument(source);
  const { sql } = source.database;
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  expect(await moveTo(source, target)).toMatchObject({ objects: 1, objects_copied: 1 });
  const admin = connectTo(source.database.url);
  await openGate(admin).finally(() => admin.end());
  await addDocument(source);
});

test('a target that another service uses is refused', async () => {
  await using source = await startEmpty();
  await using target = await startEmpty();
  await fillTables(target.database.sql);
  await expect(moveTo(source, target)).rejects.toThrow('the target is not empty');
  await addDocument(source);
});
