// What every engine of vectors promises: the memory of a process, and pgvector. The same passages with the same scores, from the moment
// at which they are embedded, of one workspace, by one model.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SERVICE } from '../../../src/core/author.ts';
import { newRandomId } from '../../../src/core/ids.ts';
import { createEmbeddingCatchUp } from '../../../src/documents/vectors/catch-up.ts';
import { createGraphMaintenance } from '../../../src/documents/vectors/graphs.ts';
import { createVectorStore } from '../../../src/documents/vectors/store.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { bodyOf, createCaller, expectStatus } from '../../acceptance/support/caller.ts';
import { createLibrary as createLibraryOver, freshName } from '../../acceptance/support/library.ts';
import { eventually } from '../../support/child.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { missingPgvector, startPgvector } from '../../support/pgvector.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { type FakeModel, fakeModel, vectorOf } from './library.ts';
import { expected, searching, setting } from './searching.ts';

const missing = missingPgvector();
const log = silentLog as never;
const memory = await shared(testDatabase());
const pgvector = missing === undefined ? await shared(startPgvector()) : undefined;

/** What a job of the service does: workspaces of at least so many passages get their graphs, others lose them. */
async function keepGraphs(sql: Sql, passagesMin: number, memoryBytesMax = 2 ** 26): Promise<void> {
  const maintain = createGraphMaintenance({ sql, passagesMin, memoryBytesMax, log });
  while ((await maintain(new AbortController().signal)) === 'again');
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('add' as const), passages: fc.integer({ min: 1, max: 90 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('replace' as const), which: fc.nat(9), passages: fc.nat(90) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('purge' as const, 'off' as const), which: fc.nat(9) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('see' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
);

type Engine = {
  name: string;
  sql: Sql | undefined;
  how: RegExp;
  runs: number;
  keep(sql: Sql): Promise<void>;
};

const ENGINES: Engine[] = [
  {
    name: 'the memory of a process',
    sql: memory.sql,
    how: /\(exact scan\)$/,
    runs: 25,
    keep: async () => undefined,
  },
  {
    name: 'pgvector',
    sql: pgvector?.sql,
    how: /\(pgvector, (HNSW|exact)\)$/,
    // Each makes a graph.
    runs: 8,
    keep: (sql) => keepGraphs(sql, 1),
  },
];

for (const { name, sql: open, how, runs, keep } of ENGINES)
  describe.skipIf(open === undefined)(open === undefined ? `${name} (${missing})` : name, () => {
    const sql = open as Sql;

    async function withDocuments(model: FakeModel, ...documents: (readonly string[])[]) {
      const { workspaceId, library, embed } = setting(sql, model);
      const ids: string[] = [];
      for (const texts of documents) {
        const id = await library.add(texts);
        expect(await embed(id)).toBe('done');
        ids.push(id);
      }
      await keep(sql);
      return { workspaceId, library, embed, ids };
    }

    test('finds exactly what the database holds, after any changes', async () => {
      const model = fakeModel(`model-${newRandomId()}`);
      using searched = searching(sql, model);
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 12 }),
          fc.integer({ min: 1, max: 120 }),
          async (steps, limit) => {
            const { workspaceId, library, embed, ids } = await withDocuments(model, ['text 0']);
            for (const [number, each] of steps.entries()) {
              // Few texts, so that scores tie.
              const texts = Array.from(
                { length: 'passages' in each ? each.passages : 0 },
                (_, index) => `text ${(index * 7 + number) % 25}`,
              );
              const id = 'which' in each ? ids[each.which % Math.max(1, ids.length)] : undefined;
              if (each.do === 'add') ids.push(await library.add(texts));
              else if (each.do === 'lose') searched.spaces.restart();
              else if (id === undefined) continue;
              else if (each.do === 'replace') await library.replace(id, texts);
              else if (each.do === 'off') await library.contents.switchOff(library.viewer, id, SERVICE);
              else if (each.do === 'see') await sql`UPDATE documents SET status = 'public' WHERE id = ${id}`;
              else {
                await library.purge(id);
                ids.splice(ids.indexOf(id), 1);
              }
              if (each.do === 'lose') continue;
              const changed = each.do === 'add' ? ids.at(-1) : id;
              if (changed !== undefined && each.do !== 'purge') expect(await embed(changed)).toBe('done');
              const few = new Set(ids.filter((_, index) => index % 2 === 0));
              const query = `text ${number}`;
              for (const request of [
                { workspaceId, query, limit },
                { workspaceId, query: 'other', limit, documents: few },
                { workspaceId, query, limit, documents: new Set(ids) },
              ]) {
                const answer = await searched.search(request);
                const exact = await expected(sql, workspaceId, request);
                if (answer?.engine.includes('HNSW')) expect(answer.found.length).toBe(exact.length);
                else expect(answer?.found ?? []).toEqual(exact);
              }
            }
          },
        ),
        { numRuns: runs },
      );
      expect(searched.outcomes).not.toContain('failed');
    });

    test('the nearest are found in the order of their scores, among those of their workspace alone', async () => {
      const model = fakeModel(`model-${newRandomId()}`);
      const texts = (first: string) => Array.from({ length: 300 }, (_, index) => `${first} ${index}`);
      const [one, other] = [
        await withDocuments(model, texts('one')),
        await withDocuments(model, texts('other')),
      ];
      using searched = searching(sql, model);
      for (const { workspaceId } of [one, other])
        for (const query of ['one 7', 'other 7']) {
          const request = { workspaceId, query, limit: 10 };
          const answer = await searched.search(request);
          const all = new Map(
            (await expected(sql, workspaceId, { query, limit: 300 })).map(({ passageId, score }) => [
              passageId,
              score,
            ]),
          );
          expect(answer?.engine).toMatch(how);
          expect(answer?.found.length).toBe(10);
          const scores = answer?.found.map(({ score }) => score) ?? [];
          expect(scores).toEqual(scores.toSorted((a, b) => b - a));
          expect(answer?.found.map(({ passageId }) => all.get(passageId) as number)).toEqual(scores);
          // Its own text is there.
          if (workspaceId === (query.startsWith('one') ? one : other).workspaceId)
            expect(scores[0]).toBeCloseTo(1, 1);
        }
    });

    test('all are found where more are asked for than there are', async () => {
      const model = fakeModel(`model-${newRandomId()}`);
      const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
      // A model takes no part of one: its vector is zero.
      model.answer = (some) => some.map((text) => (text === 'text 3' ? Array(16).fill(0) : vectorOf(text)));
      const { workspaceId } = await withDocuments(model, texts);
      using searched = searching(sql, model);
      for (const limit of [41, 1500]) {
        const request = { workspaceId, query: 'text 1', limit };
        expect((await searched.search(request))?.found).toEqual(await expected(sql, workspaceId, request));
      }
    });

    test('a changed model answers with all it has embedded, and the former until then', async () => {
      const model = fakeModel(`former-${newRandomId()}`);
      const { workspaceId, embed, ids } = await withDocuments(model, ['a', 'b'], ['c']);
      const former = model.name;
      model.name = `next-${newRandomId()}`;
      model.answer = (texts, asked) => texts.map((text) => vectorOf(text, asked === former ? 16 : 24));
      using searched = searching(sql, model);
      const engineOf = async () => (await searched.search({ workspaceId, query: 'a', limit: 2 }))?.engine;
      const changeModel = createEmbeddingCatchUp({
        store: { ...createVectorStore(sql), queueUnembedded: async () => ({ queued: 0, next: undefined }) },
        embeddings: model,
        queue: { backlog: async () => [] },
        wake: () => undefined,
        log,
      });
      const [first = '', second = ''] = ids;
      expect(await embed(first)).toBe('done');
      await changeModel(new AbortController().signal);
      expect(await engineOf()).toStartWith(former);
      expect(await embed(second)).toBe('done');
      await changeModel(new AbortController().signal);
      await keep(sql);
      const answer = await searched.search({ workspaceId, query: 'c', limit: 1 });
      expect(answer?.engine).toStartWith(model.name);
      expect(answer?.engine).toMatch(how);
      expect(answer?.found[0]?.score).toBeCloseTo(1, 1);
    });
  });

describe.skipIf(pgvector === undefined)(missing === undefined ? 'graphs' : `graphs (${missing})`, () => {
  const sql = pgvector?.sql as Sql;
  const graphsOf = (workspaceId: string) =>
    sql<{ id: number }[]>`SELECT id FROM document_vector_graphs WHERE workspace_id = ${workspaceId}`;

  test('a workspace has one from the least number of passages on, and loses it below half of that', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    using searched = searching(sql, model);
    const engineOf = async () => (await searched.search({ workspaceId, query: 'a', limit: 1 }))?.engine;
    const id = await library.add(['a', 'b', 'c']);
    await embed(id);
    await keepGraphs(sql, 4);
    expect(await engineOf()).toContain('exact scan');
    const more = await library.add(['d', 'e']);
    await embed(more);
    await keepGraphs(sql, 4);
    expect(await engineOf()).toContain('HNSW');
    await library.purge(more);
    await keepGraphs(sql, 4);
    expect(await engineOf()).toContain('HNSW');
    await library.replace(id, ['a']);
    await embed(id);
    await keepGraphs(sql, 4);
    expect(await engineOf()).toContain('exact scan');
    expect((await graphsOf(workspaceId)).length).toBe(0);
    const rows = await sql`SELECT FROM document_graph_vectors WHERE document_id = ${id}`;
    expect(rows.length).toBe(0);
  });

  test('a workspace that the memory of a process has no room for has one', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    await embed(await library.add(Array.from({ length: 100 }, (_, index) => `text ${index}`)));
    using searched = searching(sql, model, { bytesMax: 2 ** 11 });
    const request = { workspaceId, query: 'text 7', limit: 3 };
    expect(await searched.search(request)).toBeUndefined();
    await keepGraphs(sql, 1_000_000, 2 ** 11);
    expect((await searched.search(request))?.engine).toContain('HNSW');
  });

  test('vectors that are stored while it is made are in it', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    await embed(await library.add(['first']));
    const [row] = await sql<
      { model: number }[]
    >`SELECT id AS model FROM document_vector_models WHERE name = ${model.name}`;
    // A transaction that has not seen the graph, and ends after it was begun.
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const late = await library.add(['late']);
    const storing = sql.begin(async (tx) => {
      await tx`
        INSERT INTO document_vectors (document_id, model_id, passage_id, text_hash, vector)
        SELECT p.document_id, ${row?.model ?? 0}::integer, p.id, '', v.vector
        FROM document_passages p, document_vectors v
        WHERE p.document_id = ${late} AND v.model_id = ${row?.model ?? 0}::integer`;
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    const kept = keepGraphs(sql, 1);
    while ((await graphsOf(workspaceId)).length === 0) await Bun.sleep(5);
    await embed(await library.add(['second']));
    end.resolve();
    await storing;
    await kept;
    const [counted] = await sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM document_graph_vectors WHERE model_id = ${row?.model ?? 0}`;
    expect(counted?.count).toBe(3);
  });

  test('a graph whose making was broken off is made again', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    await embed(await library.add(['a', 'b']));
    await keepGraphs(sql, 1);
    const [graph] = await graphsOf(workspaceId);
    const id = graph?.id ?? 0;
    await sql.unsafe(`DROP INDEX document_graph_vectors_${id}`);
    // It waits for a transaction that has written, and is cancelled meanwhile.
    const connection = sql.reserve({ unlimited: true });
    await connection`SET statement_timeout = 300`;
    await sql.begin(async (tx) => {
      await tx`DELETE FROM document_graph_vectors WHERE graph_id = ${id}`;
      const index = `CREATE INDEX CONCURRENTLY document_graph_vectors_${id} ON document_graph_vectors
        USING hnsw ((components::halfvec(16)) halfvec_cosine_ops) WHERE graph_id = ${id}`;
      await expect(Promise.resolve(connection.unsafe(index))).rejects.toThrow('canceling');
    });
    connection.release();
    await keepGraphs(sql, 1);
    using searched = searching(sql, model);
    expect(await searched.search({ workspaceId, query: 'a', limit: 1 })).toMatchObject({
      engine: `${model.name} (pgvector, HNSW)`,
    });
  });

  test('a database that has lost the extension is searched in memory, and has its graphs again with it', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    await embed(await library.add(['a', 'b']));
    await keepGraphs(sql, 1);
    await sql`DROP EXTENSION vector CASCADE`;
    using searched = searching(sql, model);
    const engineOf = async () => (await searched.search({ workspaceId, query: 'a', limit: 1 }))?.engine;
    expect(await engineOf()).toContain('exact scan');
    await embed(await library.add(['c']));
    await keepGraphs(sql, 1);
    expect(await engineOf()).toContain('HNSW');
  });

  test('a service whose database has pgvector answers by it, and shows what the caller may see', async () => {
    await using service = await startService({
      environment: {
        CONTENT: 'on',
        DATABASE_URL: pgvector?.url ?? '',
        VECTORS_GRAPH_PASSAGES_MIN: '1',
        SWEEP_INTERVAL_SECONDS: '1',
      },
    });
    const library = createLibraryOver(createCaller(service.url), {
      workspace: WORKSPACE,
      key: BOOTSTRAP_KEY,
    });
    const stored = (text: string) => library.stored({ name: freshName('md') }, text);
    const [kept, binned] = [await stored('The gasket leaks.'), await stored('The gasket is tight.')];
    const retrieved = async (request: object) =>
      bodyOf<{ engine: string; passages: { document_id: string }[] }>(await library.retrieve(request), 200);
    const ask = { query: 'gasket', mode: 'vectors', limit: 2 };
    await eventually('both to be found by pgvector', async () => {
      const { engine, passages } = await retrieved(ask);
      return engine.includes('pgvector') && passages.length === 2;
    });
    expectStatus(await library.bin(binned.id), 204);
    const { engine, passages } = await retrieved(ask);
    expect(engine).toContain('pgvector');
    expect(passages.map(({ document_id }) => document_id)).toEqual([kept.id]);
    expect((await retrieved({ ...ask, mode: 'hybrid' })).engine).toContain('pgvector');
  });

  test('none is left where they are switched off', async () => {
    const model = fakeModel(`model-${newRandomId()}`);
    const { workspaceId, library, embed } = setting(sql, model);
    await embed(await library.add(['a', 'b']));
    await keepGraphs(sql, 1);
    await keepGraphs(sql, 0);
    expect((await graphsOf(workspaceId)).length).toBe(0);
    using searched = searching(sql, model);
    expect((await searched.search({ workspaceId, query: 'a', limit: 1 }))?.engine).toContain('exact scan');
  });
});

test('a database without pgvector is left as it is, and searched in memory', async () => {
  const { sql } = memory;
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(sql, model);
  await embed(await library.add(['a', 'b']));
  await keepGraphs(sql, 1);
  expect((await sql`SELECT FROM document_vector_graphs`).length).toBe(0);
  using searched = searching(sql, model);
  expect((await searched.search({ workspaceId, query: 'a', limit: 1 }))?.engine).toContain('exact scan');
});
