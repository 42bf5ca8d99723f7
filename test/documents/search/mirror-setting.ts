// A database of documents that change, and a mirror of them on a search server.

import { SERVICE } from '../../../src/core/author.ts';
import type { Logger } from '../../../src/core/logger.ts';
import type { Document } from '../../../src/documents/document.ts';
import { documentColumns } from '../../../src/documents/rows.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { toMirrored } from '../../../src/documents/search/meilisearch/document.ts';
import { createMirror, type Mirror } from '../../../src/documents/search/meilisearch/mirror.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { type Child, freePort, startChild } from '../../support/child.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { freshFolder } from '../../support/folders.ts';

export type SearchServer = { url: string; apiKey: string | undefined };

export const VIEWER = {
  workspaceId: 'acme',
  userId: '0198c000-0000-7000-8000-000000000001',
  email: 'ada@example.com',
  admin: true,
};

export type MirrorSetting = AsyncDisposable & {
  sql: Sql;
  /** What a process of the service would be given. */
  environment: Record<string, string>;
  library: ReturnType<typeof createLibrary>;
  /** Another process's mirror of the same documents. */
  open(options?: { server?: SearchServer; log?: Logger }): Mirror;
  start(mirror: Mirror): Promise<void>;
  stop(mirror: Mirror): Promise<void>;
  /** Resolves when everything is sent and answered by a complete index. */
  settle(mirror: Mirror): Promise<void>;
  /** What the complete index holds, by id, and what it should hold. */
  held(): Promise<Map<string, object>>;
  expected(): Promise<Map<string, object>>;
};

/** A search server of the test's own, which `kill` ends by SIGKILL and `boot` starts again on the same data. */
export function ownSearchServer(binary: string) {
  const [folder, port] = [freshFolder(), freePort()];
  const apiKey = 'a-key-of-this-test-alone';
  const boot = (): Child =>
    startChild([binary, '--db-path', folder, '--http-addr', `127.0.0.1:${port}`, '--env', 'development'], {
      environment: { MEILI_MASTER_KEY: apiKey, MEILI_NO_ANALYTICS: 'true' },
      directory: folder,
    });
  let child = boot();
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await child.exited;
  };
  return {
    server: { url: `http://127.0.0.1:${port}`, apiKey } satisfies SearchServer,
    pid: () => child.pid,
    kill,
    boot(): void {
      child = boot();
    },
    [Symbol.asyncDispose]: kill,
  };
}

/** Whatever is started with it is ended with it, and its indexes are deleted. */
export async function mirrorSetting(server: SearchServer): Promise<MirrorSetting> {
  const database = await testDatabase();
  const { sql } = database;
  const indexPrefix = `test-${crypto.randomUUID().slice(0, 8)}`;
  const indexes = createIndexes(server);
  const running = new Set<Mirror>();
  const signal = new AbortController().signal;
  const stop = async (mirror: Mirror): Promise<void> => {
    running.delete(mirror);
    for (const job of mirror.jobs.toReversed()) await job.stop();
  };
  return {
    sql,
    environment: {
      DATABASE_URL: database.url,
      MEILI_URL: server.url,
      ...(server.apiKey === undefined ? {} : { MEILI_API_KEY: server.apiKey }),
      MEILI_INDEX_PREFIX: indexPrefix,
    },
    library: createLibrary(sql),
    open: (options = {}) =>
      createMirror({
        sql,
        settings: { ...(options.server ?? server), indexPrefix },
        log: options.log ?? silentLog,
      }),
    async start(mirror) {
      running.add(mirror);
      for (const job of mirror.jobs) await job.start();
    },
    stop,
    async settle(mirror) {
      await mirror.jobs.find(({ name }) => name === 'documents.mirror')?.settle?.();
    },
    async held() {
      const [ready] = await sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror WHERE ready`;
      const held = new Map<string, object>();
      for (let offset = 0; ready !== undefined; offset += 1000) {
        const page = await readPage(server, ready.uid, offset);
        for (const row of page) held.set(row.id, row);
        if (page.length < 1000) break;
      }
      return held;
    },
    async expected() {
      const documents = await sql<Document[]>`SELECT ${documentColumns(sql)} FROM documents`;
      const plain = (value: object): object => JSON.parse(JSON.stringify(value)) as object;
      const expected = new Map<string, object>();
      for (const document of documents) expected.set(document.id, plain(await toMirrored(document)));
      return expected;
    },
    async [Symbol.asyncDispose]() {
      for (const mirror of running) await stop(mirror);
      const uids = await sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror`;
      for (const { uid } of uids) await indexes.drop(uid, signal).catch(() => undefined);
      await database.drop();
    },
  };
}

async function readPage(
  { url, apiKey }: SearchServer,
  uid: string,
  offset: number,
): Promise<{ id: string }[]> {
  const answer = await fetch(`${url}/indexes/${uid}/documents?limit=1000&offset=${offset}`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
  return ((await answer.json()) as { results: { id: string }[] }).results;
}

/** Changes of documents, as the operations of the service make them. */
export function createLibrary(sql: Sql) {
  const store = createDocumentStore(sql, createSearchEntries());
  const insert = async (fields: Partial<Document> = {}): Promise<string> => {
    const id = fields.id ?? Bun.randomUUIDv7();
    const document = {
      id,
      workspaceId: VIEWER.workspaceId,
      uploadId: crypto.randomUUID(),
      ownerId: VIEWER.userId,
      name: `document ${id}`,
      objectKey: `documents/${id}`,
      fileSize: 1,
      fileType: 'text/plain',
      fileHash: null,
      tags: ['a'],
      categories: null,
      summary: null,
      access: null,
      slots: null,
      status: 'public' as const,
      uploadObject: '',
      contentType: 'text/plain',
      ...fields,
    };
    await store.insert(document);
    return id;
  };
  const purge = async (id: string): Promise<void> => {
    await store.bin(VIEWER, id, SERVICE);
    await store.purge(VIEWER, id, SERVICE);
  };
  const change = async (
    id: string,
    fields: Partial<Pick<Document, 'name' | 'summary' | 'tags'>>,
  ): Promise<void> => {
    const found = await store.find(VIEWER, id, 'editable');
    if (found !== undefined) await store.update(VIEWER, found, fields, SERVICE);
  };
  const patch = (id: string, summary: string) => change(id, { summary, tags: [summary.slice(0, 8)] });
  return {
    insert,
    change,
    patch,
    purge,
    /** One change of one of these documents, which it may add to or take from. */
    async changeAtRandom(ids: string[]): Promise<void> {
      const dice = Math.random();
      const id = ids[Math.floor(Math.random() * ids.length)];
      if (id === undefined || dice < 0.2) ids.push(await insert());
      else if (dice < 0.7) await patch(id, crypto.randomUUID());
      else if (dice < 0.8) await store.bin(VIEWER, id, SERVICE);
      else if (dice < 0.88) await store.restore(VIEWER, id, SERVICE);
      else if (dice < 0.94)
        await store.setArchived(VIEWER, { id, archivedAt: null }, Math.random() < 0.5, SERVICE);
      else {
        ids.splice(ids.indexOf(id), 1);
        await purge(id);
      }
    },
  };
}
