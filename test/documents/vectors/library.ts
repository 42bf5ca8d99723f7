// Documents with passages in a database of its own, and an embedding model that is a fake: it can be made to fail.

import { SERVICE } from '../../../src/core/author.ts';
import type { Embeddings } from '../../../src/core/embed-texts.ts';
import { newId } from '../../../src/core/ids.ts';
import { abortable } from '../../../src/core/wait.ts';
import type { Chunk } from '../../../src/documents/content/protocol.ts';
import { createContentStore } from '../../../src/documents/content/store.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { newDocument } from '../new-document.ts';

export type FakeModel = Embeddings & {
  /** The texts of each call. */
  calls: string[][];
  name: string;
  /** What it answers instead of vectors; it may throw. */
  answer: (texts: readonly string[], model: string) => ArrayLike<number>[] | Promise<ArrayLike<number>[]>;
};

/** A vector that a text always has, by any model of so many dimensions. */
export function vectorOf(text: string, dimensions = 16): number[] {
  let state = Bun.hash.xxHash32(text) || 1;
  return Array.from({ length: dimensions }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state >>> 8) % 2001) / 1000 - 1;
  });
}

export function fakeModel(name = 'fake'): FakeModel {
  const model: FakeModel = {
    calls: [],
    name,
    answer: (texts) => texts.map((text) => vectorOf(text)),
    current: async () => model.name,
    async embed({ model: asked, texts }, signal) {
      model.calls.push([...texts]);
      return abortable(Promise.resolve(model.answer(texts, asked)), signal);
    },
  };
  return model;
}

export function createLibrary(sql: Sql, workspaceId: string) {
  const contents = createContentStore(sql);
  const documents = createDocumentStore(sql, createSearchEntries(), { reads: true });
  const viewer: Viewer = { workspaceId, userId: newId(), email: 'a@b', admin: true };

  async function read(id: string, texts: readonly string[]): Promise<void> {
    const turn = await contents.begin(id);
    async function* chunks(): AsyncGenerator<Chunk> {
      const passages = texts.map((text) => ({ start: 0, end: 1, page: null, heading: null, text }));
      yield { kind: 'text', format: 'text', part: 0, text: texts.join('\n') };
      yield { kind: 'passages', from: 0, passages, words: texts.map(() => '') };
    }
    const found = { state: 'ready' as const, reason: null, language: 'en', pages: null, characters: 1 };
    await contents.keep(
      { id, revision: turn?.revision ?? 0 },
      { ...found, passages: texts.length },
      chunks(),
    );
  }
  return {
    viewer,
    contents,
    read,
    async add(texts: readonly string[]): Promise<string> {
      const id = newId();
      await documents.insert(newDocument(viewer, { id }));
      await read(id, texts);
      return id;
    },
    async replace(id: string, texts: readonly string[]): Promise<void> {
      await contents.give(viewer, id, { text: '', format: 'text', language: null }, SERVICE);
      await read(id, texts);
    },
    async purge(id: string): Promise<void> {
      await sql`
        UPDATE documents SET status = 'deleted', deleted_at = now(), status_before_bin = 'private' WHERE id = ${id}`;
      await documents.purge(viewer, id, SERVICE);
    },
  };
}
