// Passages get their vectors: once, also over failures of the model, changes of texts and of the model.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { ServiceError, upstreamFailed } from '../../../src/core/errors.ts';
import { newRandomId } from '../../../src/core/ids.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createEmbedDocument } from '../../../src/documents/vectors/embed-document.ts';
import { EMBEDDED_AT_FIRST, EMBEDDED_AT_ONCE } from '../../../src/documents/vectors/limits.ts';
import { dequantise } from '../../../src/documents/vectors/quantise.ts';
import { createVectorStore, EARLIER_EMBEDDING, EMBEDDING } from '../../../src/documents/vectors/store.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { collectStatements } from '../../support/statements.ts';
import { createLibrary, fakeModel, vectorOf } from './library.ts';

const { sql } = await shared(testDatabase());
const store = createVectorStore(sql);

const newWorkspace = (): string => `w${newRandomId()}`.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

async function setting({ turnMs = 60_000, store = createVectorStore(sql) } = {}) {
  const workspaceId = newWorkspace();
  const library = createLibrary(sql, workspaceId);
  const model = fakeModel(`model-${newRandomId()}`);
  const turns = createSemaphore({ runningMax: 1, waitingMax: 100, refuse: '' });
  const ending = new AbortController();
  const embed = createEmbedDocument({
    store,
    embeddings: model,
    turns,
    turnMs,
    log: silentLog as never,
    ending: ending.signal,
  });
  return { workspaceId, library, model, embed };
}

/** The texts of passages with a vector, by the model, that is the one of the text. */
async function embedded(document: string, model: string): Promise<string[]> {
  const rows = await sql<{ text: string; vector: Buffer }[]>`
    SELECT p.text, v.vector FROM document_passages p JOIN document_vectors v ON v.passage_id = p.id
    JOIN document_vector_models m ON m.id = v.model_id
    WHERE p.document_id = ${document} AND m.name = ${model} ORDER BY p.passage`;
  const scale = (text: string) => Math.hypot(...vectorOf(text));
  return rows
    .filter(({ text, vector }) =>
      dequantise(vector).every(
        (value, index) => Math.abs(value - (vectorOf(text)[index] ?? 0) / scale(text)) < 0.01,
      ),
    )
    .map(({ text }) => text);
}
const countVectors = async (document: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int FROM document_vectors WHERE document_id = ${document}`;
  return row?.count ?? 0;
};
const answering = async (workspace: string): Promise<string | undefined> => {
  const [row] = await sql<{ name: string }[]>`
    SELECT m.name FROM document_vector_workspaces w JOIN document_vector_models m ON m.id = w.model_id
    WHERE w.workspace_id = ${workspace}`;
  return row?.name;
};
const texts = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `text ${from + index}`);

test('a document is queued by the transaction that replaces its passages', async () => {
  const { library } = await setting();
  const id = await library.add(['one']);
  const rows = await sql`SELECT FROM jobs WHERE kind = ${EMBEDDING} AND payload ->> 'document' = ${id}`;
  expect(rows.length).toBe(1);
});

test('passages get their vectors, and texts that the document has had cost nothing', async () => {
  const { library, model, embed, workspaceId } = await setting();
  const id = await library.add(texts(0, 150));
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(texts(0, 150));
  expect(await answering(workspaceId)).toBe(model.name);
  expect(model.calls.flat().length).toBe(150);
  // Done twice, it costs nothing.
  expect(await embed(id)).toBe('done');
  expect(model.calls.flat().length).toBe(150);
  // A paragraph before the others moves them all.
  await library.replace(id, ['new', ...texts(0, 100)]);
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(['new', ...texts(0, 100)]);
  expect(await countVectors(id)).toBe(101);
  expect(model.calls.flat().slice(150)).toEqual(['new']);
});

test('a text that another document of the workspace has costs nothing, and stays when that one is purged', async () => {
  const { library, model, embed } = await setting();
  const first = await library.add(texts(0, 100));
  expect(await embed(first)).toBe('done');
  const again = await library.add(texts(0, 100));
  expect(await embed(again)).toBe('done');
  expect(model.calls.flat()).toEqual(texts(0, 100));
  expect(await embedded(again, model.name)).toEqual(texts(0, 100));
  await library.purge(first);
  expect(await embedded(again, model.name)).toEqual(texts(0, 100));
  // Of a new version only what is new is embedded, and once, however often it has it.
  const newer = await library.add(['new', ...texts(50, 100), 'new']);
  expect(await embed(newer)).toBe('done');
  expect(model.calls.flat().slice(100)).toEqual(['new']);
  expect(await embedded(newer, model.name)).toEqual(['new', ...texts(50, 100), 'new']);
});

test('equal texts have nothing to do with one another in another workspace, below another heading, or by another model', async () => {
  const { library, model, embed } = await setting();
  const ask = async (id: string): Promise<string[]> => {
    const before = model.calls.length;
    expect(await embed(id)).toBe('done');
    return model.calls.slice(before).flat();
  };
  expect(await ask(await library.add(['same']))).toEqual(['same']);
  const other = createLibrary(sql, newWorkspace());
  expect(await ask(await other.add(['same']))).toEqual(['same']);
  const below = await library.add(['same']);
  await sql`UPDATE document_passages SET heading = 'Heading' WHERE document_id = ${below}`;
  expect(await ask(below)).toEqual(['Heading\nsame']);
  model.name = `${model.name}-next`;
  expect(await ask(await other.add(['same']))).toEqual(['same']);
});

test('a text that the model has refused is tried again with another document', async () => {
  const { library, model, embed } = await setting();
  const { answer } = model;
  model.answer = (asked, name) =>
    asked.includes('poison') ? Promise.reject(new ServiceError('malformed', 'no')) : answer(asked, name);
  expect(await embed(await library.add(['one', 'poison']))).toBe('done');
  model.answer = answer;
  const id = await library.add(['one', 'poison']);
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(['one', 'poison']);
});

test('what is embedded when a model fails stays, and the rest is made later', async () => {
  const { library, model, embed } = await setting();
  const { answer } = model;
  const id = await library.add(texts(0, 6 * EMBEDDED_AT_ONCE));
  const failures = [
    () => Promise.reject(upstreamFailed('down')),
    (asked: readonly string[]) => asked.slice(1).map((text) => vectorOf(text)),
    (asked: readonly string[]) => asked.map((text) => vectorOf(text, 17)),
    () => [],
  ];
  for (const failure of failures) {
    let calls = 0;
    // The first call succeeds.
    model.answer = (asked, name) => (calls++ === 0 ? answer(asked, name) : failure(asked));
    const ending = embed(id).then(
      (outcome) => outcome,
      (error: unknown) => String(error),
    );
    expect(await ending).not.toBe('done');
    expect(calls).toBe(2);
  }
  model.answer = answer;
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(texts(0, 6 * EMBEDDED_AT_ONCE));
});

test('a text that the model refuses is shortened, or left without a vector, and holds up no other', async () => {
  const { library, model, embed } = await setting();
  const { answer } = model;
  const long = 'long '.repeat(100);
  const id = await library.add(['one', long, 'poison', 'two']);
  model.answer = (asked, name) => {
    if (asked.some((text) => text.length > 300 || text.includes('poison')))
      throw new ServiceError('malformed', 'too long');
    return answer(asked, name);
  };
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(['one', 'two']);
  expect(await countVectors(id)).toBe(4);
});

test('of a document whose only text is refused, the others wait for nothing; where each text is refused, it is tried again', async () => {
  const { library, model, embed } = await setting();
  const { answer } = model;
  const id = await library.add(['poison']);
  model.answer = () => Promise.reject(new ServiceError('malformed', 'no'));
  await expect(embed(id)).rejects.toThrow('no');
  expect(await countVectors(id)).toBe(0);
  model.answer = (asked, name) =>
    asked.includes('poison') ? Promise.reject(new ServiceError('malformed', 'no')) : answer(asked, name);
  expect(await embed(id)).toBe('done');
  expect(await countVectors(id)).toBe(1);
});

test('a model that answers only few texts in time is given so few, however many a document has', async () => {
  const { library, model, embed } = await setting();
  const { answer } = model;
  const id = await library.add(texts(0, 100));
  model.answer = (asked, name) =>
    asked.length > 3 ? Promise.reject(new ServiceError('upstream-timeout', 'late')) : answer(asked, name);
  let attempts = 1;
  while ((await embed(id).catch(() => undefined)) !== 'done') attempts++;
  expect(await embedded(id, model.name)).toEqual(texts(0, 100));
  // Each attempt goes on where the last one ended, and no text is embedded twice.
  expect(model.calls.filter(({ length }) => length <= 3).flat()).toEqual(texts(0, 100));
  expect(attempts).toBeLessThan(15);
});

test('a document lets others have their turn after its time, and goes on where it was', async () => {
  const { library, model, embed } = await setting({ turnMs: 0 });
  const id = await library.add(texts(0, 3 * EMBEDDED_AT_FIRST));
  expect(await embed(id)).toBe('again');
  expect(await countVectors(id)).toBe(EMBEDDED_AT_FIRST);
  while ((await embed(id)) === 'again');
  expect(await embedded(id, model.name)).toEqual(texts(0, 3 * EMBEDDED_AT_FIRST));
  expect(model.calls.flat()).toEqual(texts(0, 3 * EMBEDDED_AT_FIRST));
});

test('a new document costs four statements, and no transaction of several', async () => {
  const { collected, texts: sent } = collectStatements(sql);
  const { library, embed } = await setting({ store: createVectorStore(collected) });
  // The first one adds the model.
  expect(await embed(await library.add(['a']))).toBe('done');
  const id = await library.add(texts(0, EMBEDDED_AT_FIRST));
  const before = sent().length;
  expect(await embed(id)).toBe('done');
  expect([sent().length - before, await countVectors(id)]).toEqual([4, EMBEDDED_AT_FIRST]);
});

test('vectors go with a purge, and where nothing of the text is to be kept', async () => {
  const { library, embed } = await setting();
  const [purged, off, empty] = [await library.add(['a']), await library.add(['b']), await library.add(['c'])];
  for (const id of [purged, off, empty]) expect(await embed(id)).toBe('done');
  await library.purge(purged);
  await library.contents.switchOff(library.viewer, off, SERVICE);
  await library.replace(empty, []);
  for (const id of [purged, off, empty]) {
    expect(await countVectors(id)).toBe(0);
    expect((await sql`SELECT FROM document_embeddings WHERE document_id = ${id}`).length).toBe(0);
    expect(await embed(id)).toBe('done');
  }
});

test('a text that is replaced while it is embedded leaves nothing behind', async () => {
  const { library, model, embed } = await setting();
  const id = await library.add(['old']);
  const { answer } = model;
  model.answer = async (asked, name) => {
    model.answer = answer;
    await library.replace(id, ['new']);
    return answer(asked, name);
  };
  expect(await embed(id)).not.toBe('done');
  expect(await countVectors(id)).toBe(0);
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(['new']);
});

test('a changed model answers in a workspace when it has all that the former has', async () => {
  const { library, model, embed, workspaceId } = await setting();
  const former = model.name;
  const [one, other] = [await library.add(['a', 'b']), await library.add(['c'])];
  for (const id of [one, other]) await embed(id);
  model.name = `${former}-next`;
  await embed(one);
  const next = (await store.findModel(model.name))?.id ?? 0;
  expect(next).toBeGreaterThan(0);
  // What is new meanwhile is found by both.
  const added = await library.add(['d']);
  await embed(added);
  await store.switchTo(next);
  expect(await answering(workspaceId)).toBe(former);
  expect(await embedded(added, former)).toEqual(['d']);
  expect(await embedded(one, former)).toEqual(['a', 'b']);
  await embed(other);
  await store.switchTo(next);
  expect(await answering(workspaceId)).toBe(model.name);
  while (await store.deleteSuperseded(next));
  for (const [id, expected] of [
    [one, ['a', 'b']],
    [other, ['c']],
    [added, ['d']],
  ] as const) {
    expect(await embedded(id, former)).toEqual([]);
    expect(await embedded(id, model.name)).toEqual([...expected]);
  }
});

test('of a text that the former model could not finish, nothing is left once another model has taken its place', async () => {
  const { library, model, embed } = await setting();
  const former = model.name;
  const { answer } = model;
  const done = await library.add(['a']);
  await embed(done);
  const cutOff = await library.add(texts(0, 2 * EMBEDDED_AT_ONCE));
  let calls = 0;
  model.answer = (asked, name) =>
    calls++ === 0 ? answer(asked, name) : Promise.reject(upstreamFailed('down'));
  await embed(cutOff).catch(() => undefined);
  // Fewer where the call before has taken long.
  expect(await countVectors(cutOff)).toBeWithin(1, 2 * EMBEDDED_AT_FIRST + 1);
  // The former one can be called no more.
  model.name = `${former}-next`;
  model.answer = (asked, name) =>
    name === former ? Promise.reject(upstreamFailed('gone')) : answer(asked, name);
  for (const id of [cutOff, done]) expect(await embed(id)).toBe('done');
  const next = (await store.findModel(model.name))?.id ?? 0;
  await store.switchTo(next);
  while (await store.deleteSuperseded(next));
  expect(await embedded(cutOff, model.name)).toEqual(texts(0, 2 * EMBEDDED_AT_ONCE));
  expect([await countVectors(cutOff), await countVectors(done)]).toEqual([2 * EMBEDDED_AT_ONCE, 1]);
});

test('a document that was in hand while the model changed is embedded by the new one afterwards', async () => {
  const { library, model, embed } = await setting();
  const former = model.name;
  const id = await library.add(['a']);
  const { answer } = model;
  model.answer = (asked, name) => {
    model.name = `${former}-next`;
    return answer(asked, name);
  };
  expect(await embed(id)).not.toBe('done');
  expect(await embed(id)).toBe('done');
  expect(await embedded(id, model.name)).toEqual(['a']);
});

test('documents without vectors of their present text are queued, a few at a time', async () => {
  const { library, model, embed } = await setting();
  const done = await library.add(['a']);
  await embed(done);
  const replaced = await library.add(['b']);
  await embed(replaced);
  await library.replace(replaced, ['c']);
  const missing = [await library.add(['d']), replaced].sort();
  const id = (await store.findModel(model.name))?.id ?? 0;
  const from =
    (await sql<{ id: string }[]>`SELECT min(document_id::text) AS id FROM document_contents`)[0]?.id ?? '';
  // One that is queued is not queued again.
  const queuedBefore = await library.add(['e']);
  await sql`DELETE FROM jobs WHERE payload ->> 'document' <> ${queuedBefore}`;
  let after: string | undefined = '00000000-0000-0000-0000-000000000000';
  let pages = 0;
  while (after !== undefined) {
    after = (await store.queueUnembedded(id, { after, scan: 3, limit: 1 })).next;
    pages++;
  }
  expect([pages > 1, from !== '']).toEqual([true, true]);
  const rows = await sql<{ document: string }[]>`
    SELECT payload ->> 'document' AS document FROM jobs WHERE kind = ${EARLIER_EMBEDDING}`;
  const queued = rows.map(({ document }) => document);
  expect(queued.filter((each) => missing.includes(each)).sort()).toEqual(missing);
  expect(queued).not.toContain(done);
  expect(queued).not.toContain(queuedBefore);
});
