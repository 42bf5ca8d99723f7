// The statements of the store of contents: revisions, attempts, and that a purge removes everything.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { newId } from '../../../src/core/ids.ts';
import type { Chunk } from '../../../src/documents/content/protocol.ts';
import { EARLIER_READING } from '../../../src/documents/content/queueing.ts';
import { createReadDocument } from '../../../src/documents/content/read-document.ts';
import { ReaderDied, type ReadOutcome } from '../../../src/documents/content/reader-process.ts';
import { createContentStates } from '../../../src/documents/content/states.ts';
import { createContentStore } from '../../../src/documents/content/store.ts';
import { PURGE_PASSAGES_MAX } from '../../../src/documents/limits.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import { ConnectionLost } from '../../../src/infra/postgres/unavailable.ts';
import { eventually } from '../../support/child.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { newDocument } from '../new-document.ts';

const database = await shared(testDatabase());
const { sql } = database;
const contents = createContentStore(sql);
const states = createContentStates(sql);
const documents = createDocumentStore(sql, createSearchEntries(), { reads: true });

const person = (): Viewer => ({ workspaceId: 'acme', userId: newId(), email: 'a@b', admin: false });

async function added(viewer: Viewer): Promise<string> {
  const document = newDocument(viewer);
  await documents.insert(document);
  return document.id;
}

const found = {
  state: 'ready' as const,
  reason: null,
  language: 'en',
  pages: null,
  characters: 3,
  passages: 1,
};
async function* chunksOf(text: string): AsyncGenerator<Chunk> {
  yield { kind: 'text', format: 'text', part: 0, text };
  yield {
    kind: 'passages',
    from: 0,
    passages: [{ start: 0, end: 3, page: null, heading: null, text }],
    words: [text],
  };
}
const passagesOf = async (id: string): Promise<string[]> => {
  const rows = await sql<{ text: string }[]>`
    SELECT text FROM document_passages WHERE document_id = ${id} ORDER BY passage`;
  return rows.map(({ text }) => text);
};

test('a reading that a given text has overtaken is not kept', async () => {
  const viewer = person();
  const id = await added(viewer);
  const first = await contents.begin(id);
  expect(await contents.give(viewer, id, { text: 'new', format: 'text', language: null }, SERVICE)).toBe(
    true,
  );
  await contents.keep({ id, revision: first?.revision ?? 0 }, found, chunksOf('old'));
  expect(await passagesOf(id)).toEqual([]);
  const second = await contents.begin(id);
  expect(second).toMatchObject({ givenText: 'new', attempts: 0 });
  await contents.keep({ id, revision: second?.revision ?? 0 }, found, chunksOf('new'));
  expect(await passagesOf(id)).toEqual(['new']);
  // A job that is done twice finds nothing to read.
  expect(await contents.begin(id)).toBeUndefined();
});

test('chunks that break off leave what was kept before, and whole ones replace it', async () => {
  const viewer = person();
  const id = await added(viewer);
  const first = await contents.begin(id);
  await contents.keep({ id, revision: first?.revision ?? 0 }, found, chunksOf('old'));
  await contents.give(viewer, id, undefined, SERVICE);
  const second = await contents.begin(id);
  async function* breaking(): AsyncGenerator<Chunk> {
    yield* chunksOf('new');
    throw new Error('broken off');
  }
  const kept = contents.keep({ id, revision: second?.revision ?? 0 }, found, breaking());
  await expect(kept).rejects.toThrow('broken off');
  expect(await passagesOf(id)).toEqual(['old']);
  expect((await states.find(viewer, id))?.state).toBe('pending');
  await contents.keep({ id, revision: second?.revision ?? 0 }, found, chunksOf('new'));
  expect(await passagesOf(id)).toEqual(['new']);
});

test('a purged document leaves nothing, also where it is purged while it is read', async () => {
  const viewer = person();
  const id = await added(viewer);
  const turn = await contents.begin(id);
  await documents.bin(viewer, id, SERVICE);
  await documents.purge(viewer, id, SERVICE);
  await contents.keep({ id, revision: turn?.revision ?? 0 }, found, chunksOf('late'));
  const left = await sql`
    SELECT document_id FROM document_contents WHERE document_id = ${id}
    UNION ALL SELECT document_id FROM document_content_parts WHERE document_id = ${id}
    UNION ALL SELECT document_id FROM document_passages WHERE document_id = ${id}`;
  expect(left.length).toBe(0);
});

test('emptying a bin takes fewer documents at a time where they have many passages, and takes them all', async () => {
  const viewer = person();
  for (let number = 0; number < 3; number++) {
    const id = await added(viewer);
    await sql`UPDATE document_contents SET passages = ${PURGE_PASSAGES_MAX} WHERE document_id = ${id}`;
    await documents.bin(viewer, id, SERVICE);
  }
  const sizes: number[] = [];
  for (let more = true; more; ) {
    const purged = await documents.purgeOwn(viewer, 100, SERVICE);
    sizes.push(purged.ids.length);
    more = purged.more;
  }
  expect(sizes).toEqual([1, 1, 1]);
});

test('documents without a row are queued once, in the order of their ids, but for workspaces that are off', async () => {
  const viewer = { ...person(), workspaceId: `w-${crypto.randomUUID()}` };
  const off = { ...person(), workspaceId: `w-${crypto.randomUUID()}` };
  await sql`INSERT INTO workspaces (id, name) VALUES (${viewer.workspaceId}, ''), (${off.workspaceId}, '')`;
  await sql`INSERT INTO document_settings (workspace_id, reads_files) VALUES (${off.workspaceId}, false)`;
  const ids = [await added(viewer), await added(viewer), await added(viewer)].sort();
  const skipped = await added(off);
  await sql`DELETE FROM document_contents WHERE document_id = ANY (${[...ids, skipped]}::uuid[])`;
  const walk = async (): Promise<number> => {
    let queued = 0;
    let after: string | undefined = '00000000-0000-0000-0000-000000000000';
    while (after !== undefined) {
      const page: Awaited<ReturnType<typeof contents.queueUnknown>> = await contents.queueUnknown({
        after,
        scan: 2,
        limit: 1,
      });
      queued += page.queued;
      after = page.next;
    }
    return queued;
  };
  expect(await walk()).toBe(3);
  expect(await walk()).toBe(0);
  const jobs = await sql<{ document: string }[]>`
    SELECT payload ->> 'document' AS document FROM jobs WHERE kind = ${EARLIER_READING} ORDER BY id`;
  expect(jobs.map(({ document }) => document)).toEqual(ids);
});

test('what is kept of a text is there again where its workspace is switched off before it is read anew', async () => {
  const viewer = { ...person(), workspaceId: `w-${crypto.randomUUID()}` };
  await sql`INSERT INTO workspaces (id, name) VALUES (${viewer.workspaceId}, '')`;
  const [kept, unread] = [await added(viewer), await added(viewer)];
  const turn = await contents.begin(kept);
  await contents.keep({ id: kept, revision: turn?.revision ?? 0 }, found, chunksOf('old'));
  await sql`INSERT INTO document_settings (workspace_id, reads_files) VALUES (${viewer.workspaceId}, false)`;
  await contents.give(viewer, kept, undefined, SERVICE);
  const read = readWith(() => Promise.reject(new Error('no file of the workspace is read')));
  expect([await read(kept), await read(unread)]).toEqual(['done', 'done']);
  expect(await states.find(viewer, kept)).toMatchObject({ state: 'ready', passages: 1, language: 'en' });
  expect(await passagesOf(kept)).toEqual(['old']);
  expect(await states.find(viewer, unread)).toMatchObject({ state: null });
});

test('a document that is purged meanwhile is neither given a text nor queued, and holds up no other', async () => {
  const viewer = { ...person(), workspaceId: `w-${crypto.randomUUID()}` };
  await sql`INSERT INTO workspaces (id, name) VALUES (${viewer.workspaceId}, '')`;
  const [purged, other] = [await added(viewer), await added(viewer)];
  await sql`DELETE FROM document_contents WHERE document_id = ANY (${[purged, other]}::uuid[])`;
  let given: Promise<boolean> | undefined;
  await sql.begin(async (tx) => {
    await tx`DELETE FROM documents WHERE id = ${purged}`;
    given = contents.give(viewer, purged, undefined, SERVICE);
    // Other databases of the server have locks that are waited for, too.
    await eventually('the purge to be waited for', async () => {
      const waiting = await sql`
        SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      return waiting.length > 0;
    });
    const page = { after: '00000000-0000-0000-0000-000000000000', scan: 1000, limit: 1000 };
    expect(await contents.queueUnknown(page)).toEqual({ queued: 1, next: undefined });
  });
  expect(await given).toBe(false);
  expect(await contents.begin(other)).toBeDefined();
});

/** A stand-in for a reader that dies of a file, or finds no store, which a real one cannot be made to on purpose. */
const readWith = (outcome: () => Promise<ReadOutcome>, store = contents) =>
  createReadDocument({
    store,
    objects: { readUrl: async () => 'http://127.0.0.1:1/object' },
    reader: {
      read: async (_request, keep) => keep(await outcome()),
      pid: () => undefined,
      end: () => undefined,
    },
    bytesMax: 1000,
    log: { info() {}, warn() {}, error() {}, debug() {} } as never,
  });

test('a file that its reader dies of is tried three times, then the document has failed with the reason', async () => {
  const viewer = person();
  const id = await added(viewer);
  const read = readWith(() => Promise.reject(new ReaderDied('it was too large')));
  expect(await read(id)).toEqual({ retry: 'it was too large' });
  expect(await read(id)).toEqual({ retry: 'it was too large' });
  expect((await states.find(viewer, id))?.state).toBe('pending');
  expect(await read(id)).toBe('done');
  expect(await states.find(viewer, id)).toMatchObject({ state: 'failed', reason: 'it was too large' });
  expect(await read(id)).toBe('done');
});

test('a file with which the service ends is begun three times, and is not read again', async () => {
  const viewer = person();
  const id = await added(viewer);
  // What a process leaves that is killed while it reads.
  for (let time = 0; time < 3; time++) expect((await contents.begin(id))?.id).toBe(id);
  let readings = 0;
  const read = readWith(async () => {
    readings += 1;
    return { reading: { ...found, memory: 0 }, chunks: chunksOf('abc') };
  });
  expect(await read(id)).toBe('done');
  expect(readings).toBe(0);
  expect(await states.find(viewer, id)).toMatchObject({
    state: 'failed',
    reason: 'the service ended each time that the file was read',
  });
});

test('while the store is away nothing is counted, however often it is tried', async () => {
  const viewer = person();
  const id = await added(viewer);
  const away = readWith(async () => ({ unavailable: 'the object store cannot be reached' }));
  for (let time = 0; time < 6; time++) expect(await away(id)).toMatchObject({ retry: expect.any(String) });
  expect(await states.find(viewer, id)).toMatchObject({
    state: 'pending',
    reason: 'the object store cannot be reached',
  });
  const back = readWith(async () => ({ reading: { ...found, memory: 0 }, chunks: chunksOf('abc') }));
  expect(await back(id)).toBe('done');
  expect(await passagesOf(id)).toEqual(['abc']);
});

test('a database that is lost while a file is read costs no attempt, however often', async () => {
  const viewer = person();
  const id = await added(viewer);
  for (let time = 0; time < 4; time++) {
    const lost = readWith(async () => ({ reading: { ...found, memory: 0 }, chunks: chunksOf('abc') }), {
      ...contents,
      keep: () => Promise.reject(new ConnectionLost()),
    });
    expect(await lost(id).catch((error: unknown) => error)).toBeInstanceOf(ConnectionLost);
    expect((await states.find(viewer, id))?.state).toBe('pending');
  }
  const back = readWith(async () => ({ reading: { ...found, memory: 0 }, chunks: chunksOf('abc') }));
  expect(await back(id)).toBe('done');
  expect(await passagesOf(id)).toEqual(['abc']);
});
