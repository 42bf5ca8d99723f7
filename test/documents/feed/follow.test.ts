// Who applies the lines of the export for ever has exactly the passages of the documents that they may see.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { FEED_START } from '../../../src/documents/feed/cursor.ts';
import { createFeed } from '../../../src/documents/feed/index.ts';
import { PAGE_LENGTH_MAX, PIECE_LENGTH_MAX, TOMBSTONE_DAYS } from '../../../src/documents/feed/limits.ts';
import { readFeedPage, toStream } from '../../../src/documents/feed/page.ts';
import { createFeedStore, type FeedStore } from '../../../src/documents/feed/store.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { quantise } from '../../../src/documents/vectors/quantise.ts';
import { createVectorStore } from '../../../src/documents/vectors/store.ts';
import { createRandom, type Random, seedOfRun } from '../../faults/support/random.ts';
import { eventually } from '../../support/child.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { createFollower } from './follower.ts';
import { createLibrary, viewerOf } from './library.ts';

const database = await shared(testDatabase());
const { sql } = database;
const library = createLibrary(sql);
const store = createFeedStore(sql);

const newWorkspace = (): string => `w-${crypto.randomUUID().slice(0, 8)}`;

/** What the viewer's copy is to have, by the rule in words: not through the conditions of the export. */
async function visibleTo(viewer: Viewer): Promise<Record<string, string[]>> {
  const rows = await sql<
    { id: string; owner: string; status: string; curators: string[]; archived: boolean; texts: string[] }[]
  >`
    SELECT id, owner_id AS owner, status, curators, archived_at IS NOT NULL AS archived, texts FROM documents d
    JOIN (SELECT document_id, array_agg(text ORDER BY passage) AS texts FROM document_passages GROUP BY 1) p ON document_id = id
    WHERE d.workspace_id = ${viewer.workspaceId} ORDER BY id`;
  const mayRead = rows.filter(
    ({ owner, status, curators, archived }) =>
      status !== 'deleted' &&
      !archived &&
      (viewer.admin || status === 'public' || owner === viewer.userId || curators.includes(viewer.email)),
  );
  return Object.fromEntries(mayRead.map(({ id, texts }) => [id, texts]));
}

/** One random change to one of the documents, or another document. */
function changeOf(random: Random, people: readonly Viewer[], ids: string[]): () => Promise<unknown> {
  const [owner, other] = [random.pick(people), random.pick(people)];
  if (owner === undefined || other === undefined) throw new Error('there are no people');
  const admin = { ...owner, admin: true };
  const id = random.pick(ids);
  const texts = Array.from({ length: random.below(7) }, () => `text ${random.below(1000)} `);
  const status = random.chance(0.5) ? ('public' as const) : ('private' as const);
  const add = async () =>
    void ids.push(await library.add(owner, { status, ...(random.chance(0.8) ? { texts } : {}) }));
  if (id === undefined || random.chance(0.25)) return add;
  const changes = [
    () => library.replace(admin, id, texts),
    () => library.replace(admin, id, texts),
    () => library.read(id, texts),
    () => library.patch(admin, id, { status }),
    () => library.patch(admin, id, { access: { curators: [other.email] } }),
    () => library.patch(admin, id, { ownerId: other.userId }),
    () => library.patch(admin, id, { tags: ['a'] }),
    () => library.archive(admin, id, random.chance(0.5)),
    () => library.contents.switchOff(admin, id, SERVICE),
    () => library.bin(admin, id),
    () => library.restore(admin, id),
    () => library.purge(admin, id),
    () => library.empty(owner, 2),
  ];
  return random.pick(changes) ?? add;
}

test('after any history, followers with pages of any size, also killed ones, have what is visible to them, as does a fresh copy', async () => {
  const seed = seedOfRun();
  console.log(`FAULT_SEED=${seed}`);
  for (let history = 0; history < 12; history++) {
    const random = createRandom(seed + history);
    const workspace = newWorkspace();
    const people = [viewerOf(workspace), viewerOf(workspace), viewerOf(workspace, { admin: true })];
    const followers = people.map((viewer) => ({ viewer, follower: createFollower(store, viewer) }));
    const ids: string[] = [];
    for (let step = 0; step < 60; step++) {
      await changeOf(random, people, ids)();
      for (const { follower } of followers) {
        if (!random.chance(0.3)) continue;
        const killed = random.chance(history % 2 === 0 ? 0 : 0.3) ? { lines: random.below(6) } : {};
        await follower.readPage({ limit: random.between({ from: 1, to: 12 }), ...killed });
      }
    }
    for (const { viewer, follower } of followers) {
      const expected = await visibleTo(viewer);
      expect({ seed, copy: await follower.catchUp(random.between({ from: 1, to: 12 })) }).toEqual({
        seed,
        copy: expected,
      });
      const fresh = createFollower(store, viewer);
      expect({ seed, copy: await fresh.catchUp() }).toEqual({ seed, copy: expected });
      expect(fresh.tombstones).toEqual([]);
      // There is nothing more, and nothing is repeated.
      expect(await follower.readPage()).toBe(false);
      expect(follower.copied()).toEqual(expected);
    }
  }
});

test('while many change and read at once, a follower misses nothing', async () => {
  const seed = seedOfRun();
  console.log(`FAULT_SEED=${seed}`);
  const workspace = newWorkspace();
  const people = [viewerOf(workspace), viewerOf(workspace)];
  const followers = people.map((viewer) => ({ viewer, follower: createFollower(store, viewer) }));
  const ids: string[] = [];
  let writing = true;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    const random = createRandom(seed + writer);
    for (let step = 0; step < 60; step++) await changeOf(random, people, ids)();
  });
  const readers = followers.map(async ({ follower }, at) => {
    const random = createRandom(seed - at);
    while (writing) await follower.readPage({ limit: random.between({ from: 1, to: 7 }) });
  });
  await Promise.all(writers);
  writing = false;
  await Promise.all(readers);
  for (const { viewer, follower } of followers)
    expect({ seed, copy: await follower.catchUp() }).toEqual({ seed, copy: await visibleTo(viewer) });
});

test('a document that changes while a page has ended within it is replaced as a whole', async () => {
  const owner = viewerOf(newWorkspace());
  const id = await library.add(owner, { texts: ['a', 'b', 'c', 'd'] });
  const follower = createFollower(store, owner);
  expect(await follower.readPage({ limit: 2 })).toBe(true);
  await library.replace(owner, id, ['x', 'y', 'z']);
  expect(await follower.catchUp(1)).toEqual({ [id]: ['x', 'y', 'z'] });
  expect(follower.tombstones).toEqual([id]);
});

test('a tombstone goes to those who could see the document, and its id to no one else', async () => {
  const workspace = newWorkspace();
  const [owner, curator, stranger] = [viewerOf(workspace), viewerOf(workspace), viewerOf(workspace)];
  const admin = viewerOf(workspace, { admin: true });
  const followers = [owner, curator, stranger, admin].map((viewer) => createFollower(store, viewer));
  const access = { curators: [curator.email] };
  const [own, was, open] = [
    await library.add(owner, { texts: ['a'], access }),
    await library.add(owner, { texts: ['b'], access }),
    await library.add(owner, { texts: ['c'], status: 'public' }),
  ];
  for (const follower of followers) await follower.catchUp();
  await library.patch(owner, was, { access: { curators: [] } });
  await library.bin(owner, was);
  await library.bin(owner, own);
  await library.bin(owner, open);
  for (const id of [own, was, open]) await library.purge(owner, id);
  for (const follower of followers) expect(await follower.catchUp()).toEqual({});
  const all = [own, was, open].toSorted();
  expect(followers.map(({ tombstones }) => tombstones.toSorted())).toEqual([all, all, [open], all]);
});

test('a page ends with the line that makes it long, and goes on where it ended', async () => {
  const owner = viewerOf(newWorkspace());
  const texts = Array.from({ length: 450 }, (_, at) => `${at}`.padEnd(PAGE_LENGTH_MAX / 300, '.'));
  const id = await library.add(owner, { texts });
  const follower = createFollower(store, owner);
  expect(await follower.readPage()).toBe(true);
  // The rest of a line is short.
  expect(follower.copied()[id]?.length).toBeWithin(290, 301);
  expect(await follower.catchUp()).toEqual({ [id]: texts });
});

test('documents that others hide cost no lines, and nothing behind them is missed', async () => {
  const workspace = newWorkspace();
  const [owner, reader] = [viewerOf(workspace), viewerOf(workspace)];
  await sql`
    WITH added AS (
      INSERT INTO documents (id, workspace_id, upload_id, upload_object, owner_id, name, object_key, status)
      SELECT gen_random_uuid(), ${workspace}, gen_random_uuid(), '', ${owner.userId}, 'a', 'a', 'private'
      FROM generate_series(1, 2500) RETURNING id, workspace_id)
    INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence, content_sequence)
    SELECT workspace_id, id, row_number() OVER (), row_number() OVER (), row_number() OVER () FROM added`;
  await sql`INSERT INTO document_feeds (workspace_id, last_sequence) VALUES (${workspace}, 2500)`;
  const id = await library.add(owner, { texts: ['a'], status: 'public' });
  const follower = createFollower(store, reader);
  expect(await follower.readPage()).toBe(false);
  expect(follower.copied()).toEqual({ [id]: ['a'] });
});

test('who was away for longer than tombstones are kept begins anew, and so does who has other rights by now', async () => {
  const owner = viewerOf(newWorkspace());
  const [kept, purged] = [
    await library.add(owner, { texts: ['a'] }),
    await library.add(owner, { texts: ['b'] }),
  ];
  const away = createFollower(store, owner);
  const beginning = createFollower(store, owner);
  await away.catchUp();
  await library.bin(owner, purged);
  await library.purge(owner, purged);
  await beginning.readPage({ limit: 1 });
  const upToDate = createFollower(store, owner);
  await upToDate.catchUp();
  const later = new Date(Date.now() + (TOMBSTONE_DAYS + 1) * 86_400_000);
  await createFeed(sql).forget(new Date(), new AbortController().signal);
  expect(await sql`SELECT FROM document_changes WHERE document_id = ${purged}`).toHaveLength(1);
  await createFeed(sql).forget(later, new AbortController().signal);
  expect(await sql`SELECT FROM document_changes WHERE document_id = ${purged}`).toHaveLength(0);
  await expect(away.catchUp()).rejects.toMatchObject({ kind: 'gone' });
  away.reset();
  expect(await away.catchUp()).toEqual({ [kept]: ['a'] });
  // Who has begun after the purge has nothing of it.
  expect(await beginning.catchUp()).toEqual({ [kept]: ['a'] });
  // A cursor does not expire by its age: nothing was purged after this one.
  expect(await upToDate.catchUp()).toEqual({ [kept]: ['a'] });
  const other = createFollower(store, { ...owner, admin: true });
  await other.catchUp();
  Object.assign(owner, { admin: true });
  await expect(beginning.catchUp()).rejects.toMatchObject({ kind: 'gone' });
});

test('after a restored backup, a follower that is ahead of it begins anew', async () => {
  const owner = viewerOf(newWorkspace());
  await library.add(owner, { texts: ['a'] });
  await library.add(owner, { texts: ['b'] });
  const follower = createFollower(store, owner);
  await follower.catchUp();
  await sql`UPDATE document_feeds SET last_sequence = 1 WHERE workspace_id = ${owner.workspaceId}`;
  await expect(follower.catchUp()).rejects.toMatchObject({ kind: 'gone' });
});

test('embeddings come with the change by which a document has them, and another model makes a follower begin anew', async () => {
  const owner = viewerOf(newWorkspace());
  const vectors = createVectorStore(sql);
  const embed = async (id: string, modelId: number): Promise<void> => {
    const document = await vectors.begin(id, 'another');
    if (document === undefined) throw new Error('there is nothing to embed');
    const passages = await vectors.passagesAfter(document, { modelId, after: -1, limit: 10 });
    const made = passages.map(({ id: passageId }, at) => ({
      passageId,
      hash: '00'.repeat(16),
      vector: quantise([at === 0 ? 1 : 0, at === 0 ? 0 : 1, 0]),
    }));
    await vectors.put(document, modelId, made);
    expect(await vectors.complete(document, modelId, [modelId])).toBe('complete');
  };
  const follower = createFollower(store, owner, { embeddings: true });
  const plain = createFollower(store, owner);
  await follower.readPage();
  const id = await library.add(owner, { texts: ['a', 'b'] });
  await follower.readPage();
  await plain.readPage();
  expect(follower.embeddings.get(id)).toEqual([undefined, undefined]);
  const first = await vectors.addModel(`first-${owner.workspaceId}`, 3);
  await embed(id, first.id);
  await follower.readPage();
  expect(follower.embeddings.get(id)).toEqual([
    [1, 0, 0],
    [0, 1, 0],
  ]);
  expect(follower.copied()).toEqual({ [id]: ['a', 'b'] });
  // Without embeddings nothing is repeated, and a fresh copy is the same.
  expect(await plain.readPage()).toBe(false);
  const fresh = createFollower(store, owner);
  expect(await fresh.catchUp()).toEqual(plain.copied());
  expect([plain.tombstones, plain.embeddings.get(id)]).toEqual([[], [undefined, undefined]]);
  const second = await vectors.addModel(`second-${owner.workspaceId}`, 3);
  await embed(id, second.id);
  await vectors.switchTo(second.id);
  await expect(follower.readPage()).rejects.toMatchObject({ kind: 'gone' });
  expect(await plain.readPage()).toBe(false);
});

test('embeddings of many dimensions come a few at a time, other work runs between, and pages are bounded by their length', async () => {
  const owner = viewerOf(newWorkspace());
  const vectors = createVectorStore(sql);
  const texts = Array.from({ length: 120 }, (_, at) => `${at} `);
  const id = await library.add(owner, { texts });
  const document = await vectors.begin(id, 'another');
  if (document === undefined) throw new Error('there is nothing to embed');
  const model = await vectors.addModel(`many-${owner.workspaceId}`, 8192);
  const vector = quantise(Array.from({ length: 8192 }, (_, at) => Math.sin(at)));
  const passages = await vectors.passagesAfter(document, {
    modelId: model.id,
    after: -1,
    limit: texts.length,
  });
  const made = passages.map(({ id: passageId }) => ({ passageId, hash: '00'.repeat(16), vector }));
  await vectors.put(document, model.id, made);
  expect(await vectors.complete(document, model.id, [model.id])).toBe('complete');
  const asked: number[] = [];
  const counting: FeedStore = {
    ...store,
    follow(viewer, position, options) {
      asked.push(options.passages);
      return store.follow(viewer, position, options);
    },
  };
  const request = {
    viewer: owner,
    embeddings: true,
    position: FEED_START,
    limit: 1000,
    secret: Buffer.from('x'),
  };
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    turning = setImmediate(turn);
  };
  let turning = setImmediate(turn);
  const pieces: { length: number; lines: number; turn: number }[] = [];
  for await (const text of readFeedPage(counting, request))
    pieces.push({ length: text.length, lines: text.split('\n').length - 1, turn: turns });
  clearImmediate(turning);
  pieces.pop();
  const lines = pieces.reduce((sum, each) => sum + each.lines, 0);
  const length = pieces.reduce((sum, each) => sum + each.length, 0);
  const ofLine = Math.ceil(length / lines) + 100;
  expect(lines).toBeLessThan(texts.length);
  expect(length).toBeWithin(PAGE_LENGTH_MAX, PAGE_LENGTH_MAX + ofLine);
  for (const piece of pieces) expect(piece.length).toBeLessThan(PIECE_LENGTH_MAX + ofLine);
  expect(new Set(pieces.map((piece) => piece.turn)).size).toBe(pieces.length);
  // No more vectors were read than the page has room for, by about a page's worth.
  expect(asked.reduce((sum, each) => sum + each)).toBeLessThan(texts.length);
  // All pages together have all of them, each once.
  const follower = createFollower(store, owner, { embeddings: true });
  expect(await follower.catchUp()).toEqual({ [id]: texts });
});

test('lines are read as the client takes them, and no more when it leaves', async () => {
  const owner = viewerOf(newWorkspace());
  const texts = Array.from({ length: 900 }, (_, at) => `${at} `);
  await library.add(owner, { texts });
  let asked = 0;
  const counting: Pick<FeedStore, 'follow'> = {
    follow(...options) {
      asked += 1;
      return store.follow(...options);
    },
  };
  const request = {
    viewer: owner,
    embeddings: false,
    position: FEED_START,
    limit: 1000,
    secret: Buffer.from('x'),
  };
  const reader = (await toStream(readFeedPage(counting, request))).getReader();
  await reader.read();
  // One statement's lines were taken, and one waits at most.
  await eventually('the next lines to be there', () => asked === 2);
  await reader.cancel();
  expect(asked).toBe(2);
});

test('of very many who could see a document it keeps no list', async () => {
  const owner = viewerOf(newWorkspace());
  const id = await library.add(owner, { texts: ['a'] });
  for (const turn of ['a', 'b', 'c', 'd']) {
    const curators = Array.from({ length: 600 }, (_, at) => `${turn}${at}@example.com`);
    await library.patch(owner, id, { access: { curators } });
  }
  const [row] = await sql<{ all: boolean; listed: number }[]>`
    SELECT seen_by_all AS all, cardinality(seen_by) AS listed FROM document_changes WHERE document_id = ${id}`;
  expect(row).toEqual({ all: true, listed: 1201 });
});
