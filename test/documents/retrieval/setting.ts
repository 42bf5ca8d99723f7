// Retrieval over a database, with documents whose passages are given.

import { newId } from '../../../src/core/ids.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import type { Chunk } from '../../../src/documents/content/protocol.ts';
import { createContentStore } from '../../../src/documents/content/store.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createRetriever, type RetrieveRequest } from '../../../src/documents/retrieval/retrieve.ts';
import { passageWordsOf } from '../../../src/documents/retrieval/segmentation.ts';
import { createStemmer } from '../../../src/documents/retrieval/stems.ts';
import { createWordStore } from '../../../src/documents/retrieval/word-store.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import type { SearchVectors } from '../../../src/documents/vectors/search.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { newDocument } from '../new-document.ts';

export const inWorkspace = (workspaceId: string): Viewer => ({
  workspaceId,
  userId: newId(),
  email: 'a@b.example',
  admin: true,
});

export const asked = (query: string, rest: Partial<RetrieveRequest> = {}): RetrieveRequest => ({
  query,
  limit: 10,
  mode: 'words',
  filter: undefined,
  minScore: undefined,
  ...rest,
});

export function retrievalIn(sql: Sql, searchVectors: SearchVectors = async () => undefined) {
  const stemmer = createStemmer();
  const words = createWordStore(sql, stemmer);
  const contents = createContentStore(sql, words);
  const documents = createDocumentStore(sql, createSearchEntries(), { reads: true });
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const search = createPostgresSearch({ sql, bucket: 'atrium', slow });
  const searching = { plan: search.plan, slow };
  const { retrieve } = createRetriever({ searchSql: sql, stemmer, searchVectors, search: searching });

  /** Reads the document as if its file had these passages. */
  async function read(id: string, language: string | null, texts: readonly string[]): Promise<void> {
    const turn = await contents.begin(id);
    const passages = texts.map((text) => ({ start: 0, end: [...text].length, page: 1, heading: null, text }));
    async function* chunks(): AsyncGenerator<Chunk> {
      yield { kind: 'passages', from: 0, passages, words: passages.map(passageWordsOf) };
    }
    const found = { reason: null, language, pages: 1, characters: 1, passages: texts.length };
    await contents.keep({ id, revision: turn?.revision ?? 0 }, { state: 'ready', ...found }, chunks());
  }

  /** A new document with these passages; returns its id. */
  async function store(viewer: Viewer, language: string | null, ...texts: string[]): Promise<string> {
    const id = newId();
    await documents.insert(newDocument(viewer, { id, name: `${id}.txt` }));
    await read(id, language, texts);
    return id;
  }

  return { retrieve, store, read, words, contents, documents };
}
