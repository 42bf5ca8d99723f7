// What lacks vectors of the present model gets them, each workspace in turn, and that model answers then: without waiting for the
// next interval, which is an hour here.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createVectors } from '../../../src/documents/vectors/index.ts';
import { EARLIER_EMBEDDING, EMBEDDING } from '../../../src/documents/vectors/store.ts';
import { exclusively } from '../../../src/infra/postgres/exclusive.ts';
import { createJobQueue } from '../../../src/infra/postgres/job-queue.ts';
import { eventually } from '../../support/child.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { createLibrary, fakeModel } from './library.ts';

/** A process with the jobs of vectors, beside a database and a model of its own. */
async function setting() {
  const database = await testDatabase();
  const { sql } = database;
  const log = silentLog as never;
  const model = fakeModel('former');
  const queue = createJobQueue({ sql, log, clock: systemClock });
  const vectors = createVectors({
    sql,
    searchSql: sql,
    queue,
    embeddings: model,
    settings: { memoryBytesMax: 1_000_000, graphPassagesMin: 0, catchUpIntervalSeconds: 3600 },
    log,
  });
  const [catchUp] = vectors.jobs;
  if (catchUp === undefined) throw new Error('there is no catch-up');
  return {
    sql,
    model,
    vectors,
    catchUp,
    library: (workspace: string) => createLibrary(sql, workspace),
    async start() {
      queue.job.start();
      await catchUp.start();
    },
    /** Which model answers, with which documents. */
    async answering(workspace: string): Promise<[string | undefined, string[]]> {
      const rows = await sql<{ model: string; document: string | null }[]>`
        SELECT m.name AS model, e.document_id AS document FROM document_vector_workspaces w
        JOIN document_vector_models m ON m.id = w.model_id
        LEFT JOIN document_embeddings e ON e.workspace_id = w.workspace_id AND e.model_id = m.id
        WHERE w.workspace_id = ${workspace}`;
      return [rows[0]?.model, rows.flatMap(({ document }) => document ?? []).sort()];
    },
    async [Symbol.asyncDispose]() {
      await queue.job.stop();
      for (const job of vectors.jobs) await job.stop();
      await database.drop();
    },
  };
}

test('a start that finds the lock held embeds what was stored earlier as soon as the lock is free', async () => {
  await using process = await setting();
  const { sql, catchUp, answering } = process;
  const id = await process.library('acme').add(['a']);
  await sql`DELETE FROM jobs WHERE kind = ${EMBEDDING}`;
  const dead = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holder = exclusively(sql, catchUp.name, async () => {
    held.resolve();
    await dead.promise;
  });
  await held.promise;
  await process.start();
  await catchUp.settle?.();
  expect(await answering('acme')).toEqual([undefined, []]);
  dead.resolve();
  await holder;
  await eventually('the document to be embedded', async () => (await answering('acme'))[1].includes(id));
});

test('another model answers as soon as a text that was being read has its vectors, too', async () => {
  await using process = await setting();
  const { model, vectors, answering } = process;
  const [acme, other] = [process.library('acme'), process.library('other')];
  const ids = [await acme.add(['a']), await acme.add(['b'])].sort();
  const sibling = await other.add(['c']);
  await process.start();
  await eventually(
    'the former model',
    async () =>
      Bun.deepEquals(await answering('acme'), ['former', ids]) && (await answering('other'))[1].length > 0,
  );
  // The former model has the text before.
  const [read = ''] = ids;
  await acme.contents.give(acme.viewer, read, { text: '', format: 'text', language: null }, SERVICE);
  model.name = 'next';
  vectors.reload();
  await eventually('the other workspace', async () =>
    Bun.deepEquals(await answering('other'), ['next', [sibling]]),
  );
  await process.catchUp.settle?.();
  expect((await answering('acme'))[0]).toBe('former');
  await acme.read(read, ['new']);
  vectors.wake();
  await eventually('the new model', async () => Bun.deepEquals(await answering('acme'), ['next', ids]));
  await eventually('the vectors of the former model to be deleted', async () => {
    const models = await process.sql`SELECT DISTINCT model_id FROM document_vectors`;
    return models.length === 1;
  });
});

test.each([EMBEDDING, EARLIER_EMBEDDING])(
  'many documents of one workspace hold up the first of another by one job of the kind %s',
  async (kind) => {
    await using process = await setting();
    const { sql, model } = process;
    for (let index = 0; index < 5; index++) await process.library('acme').add([`acme ${index}`]);
    await process.library('other').add(['other']);
    if (kind === EARLIER_EMBEDDING) await sql`DELETE FROM jobs WHERE kind = ${EMBEDDING}`;
    await process.start();
    await eventually('all texts', () => model.calls.flat().length === 6);
    expect(model.calls.flat().indexOf('other')).toBeLessThanOrEqual(1);
  },
);
