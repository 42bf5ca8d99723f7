// Searches by vectors against what the database holds: after any changes, over several threads, within the bound of memory.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { SERVICE } from '../../../src/core/author.ts';
import { newRandomId } from '../../../src/core/ids.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createEmbedDocument } from '../../../src/documents/vectors/embed-document.ts';
import { createLoading } from '../../../src/documents/vectors/loading.ts';
import { type Query, toQuery } from '../../../src/documents/vectors/quantise.ts';
import { createScanner } from '../../../src/documents/vectors/scanner.ts';
import {
  createSearchVectors,
  type SearchOutcome,
  type SearchVectors,
} from '../../../src/documents/vectors/search.ts';
import { createSpaces } from '../../../src/documents/vectors/spaces.ts';
import { createVectorStore } from '../../../src/documents/vectors/store.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { createLibrary, type FakeModel, fakeModel, vectorOf } from './library.ts';
import { findPlainly } from './plain.ts';

const { sql } = await shared(testDatabase());
const store = createVectorStore(sql);
const log = silentLog as never;

function searching(model: FakeModel, { bytesMax = 2 ** 26, threads = 2 } = {}) {
  const outcomes: SearchOutcome[] = [];
  const scanner = createScanner({ threads, bytesMax, onLost: () => spaces.lost(), log });
  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, scanner, bytesMax, log });
  const queries = new LRUCache<string, Query>({ max: 100 });
  const search: SearchVectors = async (...request) => {
    for (;;) {
      let outcome: SearchOutcome | undefined;
      const count = (counted: SearchOutcome): void => {
        outcome = counted;
      };
      const deps = { loading, spaces, scanner, embeddings: model, queries, count, log };
      const found = await createSearchVectors(deps)(...request);
      // A busy machine loads for longer than a search waits, and a later one finds the vectors.
      if (outcome === 'loading') continue;
      if (outcome !== undefined) outcomes.push(outcome);
      return found;
    }
  };
  return { search, scanner, spaces, outcomes, [Symbol.dispose]: scanner.end };
}

function setting(model: FakeModel) {
  const workspaceId = `w${newRandomId().replaceAll(/[^a-z0-9]/g, '')}`;
  const turns = createSemaphore({ runningMax: 1, waitingMax: 100, refuse: '' });
  const ending = new AbortController().signal;
  return {
    workspaceId,
    library: createLibrary(sql, workspaceId),
    embed: createEmbedDocument({ store, embeddings: model, turns, log, ending }),
  };
}

/** What a search is to find, read from the database. */
async function expected(
  workspaceId: string,
  { query, limit, documents }: { query: string; limit: number; documents?: ReadonlySet<string> },
) {
  const rows = await sql<{ document: string; id: number; stored: Buffer }[]>`
    SELECT v.document_id AS document, v.passage_id AS id, v.vector AS stored
    FROM document_vectors v JOIN document_embeddings e ON e.document_id = v.document_id AND e.model_id = v.model_id
    JOIN document_passages p ON p.id = v.passage_id WHERE e.workspace_id = ${workspaceId}`;
  const { components, scale } = toQuery(vectorOf(query));
  const scan = { components, limit, behind: undefined, documents: documents && [...documents] };
  const plain = rows.map((row) => ({ ...row, id: BigInt(row.id) }));
  return findPlainly(plain, scan).map(({ id, score }) => ({ passageId: String(id), score: score * scale }));
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

test('finds exactly what the database holds, after any changes', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  using searched = searching(model);
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 12 }),
      fc.integer({ min: 1, max: 120 }),
      async (steps, limit) => {
        const { workspaceId, library, embed } = setting(model);
        const ids: string[] = [];
        for (const [number, each] of steps.entries()) {
          // Few texts, so that scores tie.
          const texts = Array.from(
            { length: 'passages' in each ? each.passages : 0 },
            (_, index) => `text ${(index * 7 + number) % 25}`,
          );
          const id = 'which' in each ? ids[each.which % Math.max(1, ids.length)] : undefined;
          if (each.do === 'add') ids.push(await library.add(texts));
          else if (each.do === 'lose') searched.spaces.lost();
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
          for (const request of [
            { workspaceId, query: `text ${number}`, limit },
            { workspaceId, query: 'other', limit, documents: few },
          ]) {
            const found = await searched.search(request);
            if (found === undefined) {
              expect(await expected(workspaceId, request)).toEqual([]);
            } else expect(found.found).toEqual(await expected(workspaceId, request));
          }
        }
      },
    ),
    { numRuns: 25 },
  );
  expect(searched.outcomes).not.toContain('failed');
});

test('nothing is found before anything is embedded, and then at once', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(model);
  using searched = searching(model);
  const request = { workspaceId, query: 'b', limit: 2 };
  expect(await searched.search(request)).toBeUndefined();
  const id = await library.add(['a', 'b', 'c']);
  expect(await searched.search(request)).toBeUndefined();
  await embed(id);
  const found = await searched.search(request);
  expect(found?.model).toBe(model.name);
  expect(found?.found.length).toBe(2);
  expect(found?.found[0]?.score).toBeCloseTo(1, 1);
  expect(searched.outcomes).toEqual(['none', 'none', 'found']);
});

test('many searches at once each get their own answer', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  using searched = searching(model);
  const settings = [setting(model), setting(model)];
  for (const { library, embed } of settings)
    await embed(await library.add(Array.from({ length: 200 }, (_, index) => `text ${index}`)));
  const requests = Array.from({ length: 60 }, (_, index) => ({
    workspaceId: settings[index % 2]?.workspaceId ?? '',
    query: `text ${index}`,
    limit: 1 + (index % 30),
  }));
  const answers = await Promise.all(requests.map((request) => searched.search(request)));
  for (const [index, request] of requests.entries())
    expect(answers[index]?.found).toEqual(await expected(request.workspaceId, request));
});

test('a workspace without room is searched without vectors, says so, and costs others nothing', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const [small, large] = [setting(model), setting(model)];
  await small.embed(await small.library.add(['a']));
  const many = Array.from({ length: 3000 }, (_, index) => `text ${index}`);
  for (let document = 0; document < 3; document++) await large.embed(await large.library.add(many));
  using searched = searching(model, { bytesMax: 2 ** 18 });
  const ask = ({ workspaceId }: { workspaceId: string }) =>
    searched.search({ workspaceId, query: 'a', limit: 1 });
  expect((await ask(small))?.found.length).toBe(1);
  expect(await ask(large)).toBeUndefined();
  expect((await ask(small))?.found.length).toBe(1);
  expect(searched.outcomes).toEqual(['found', 'no_room', 'found']);
  expect(searched.spaces.metrics()).toEqual({ loaded: 1, withoutRoom: 1 });
});

test('vectors that a thread has lost are loaded again, and no search finds less in silence', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(model);
  await embed(await library.add(['a', 'b']));
  using searched = searching(model, { threads: 1 });
  const request = { workspaceId, query: 'a', limit: 5 };
  expect((await searched.search(request))?.found.length).toBe(2);
  await searched.scanner.forget(`${workspaceId} ${(await store.findModel(model.name))?.id}`);
  expect(await searched.search(request)).toBeUndefined();
  expect((await searched.search(request))?.found.length).toBe(2);
});

test('a model that fails, hangs, or answers other dimensions, leaves the search without vectors', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(model);
  await embed(await library.add(['a', 'b']));
  using searched = searching(model);
  const { answer } = model;
  model.answer = () => Promise.reject(new Error('down'));
  expect(await searched.search({ workspaceId, query: 'one', limit: 5 })).toBeUndefined();
  model.answer = (texts) => texts.map((text) => vectorOf(text, 3));
  expect(await searched.search({ workspaceId, query: 'two', limit: 5 })).toBeUndefined();
  model.answer = () => new Promise(() => undefined);
  expect(await searched.search({ workspaceId, query: 'three', limit: 5 })).toBeUndefined();
  model.answer = answer;
  expect((await searched.search({ workspaceId, query: 'one', limit: 5 }))?.found.length).toBe(2);
  const aborted = AbortSignal.abort(new Error('left'));
  await expect(searched.search({ workspaceId, query: 'one', limit: 5 }, aborted)).rejects.toThrow('left');
  expect(searched.outcomes).toEqual(['failed', 'failed', 'failed', 'found']);
});
