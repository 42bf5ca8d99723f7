// Documents with texts, made by the statements of the service's stores, without files and readers.

import { SERVICE } from '../../../src/core/author.ts';
import { newId } from '../../../src/core/ids.ts';
import type { Chunk } from '../../../src/documents/content/protocol.ts';
import { createContentStore } from '../../../src/documents/content/store.ts';
import type { DocumentChanges } from '../../../src/documents/document.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { createDocumentStore, type NewDocument } from '../../../src/documents/store.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { newDocument } from '../new-document.ts';

export const viewerOf = (workspaceId: string, options: Partial<Viewer> = {}): Viewer => {
  const userId = newId();
  return { workspaceId, userId, email: `${userId}@example.com`, admin: false, ...options };
};

export async function* chunksOf(texts: readonly string[]): AsyncGenerator<Chunk> {
  yield { kind: 'text', format: 'text', part: 0, text: texts.join('') };
  const passages = texts.map((text) => ({ start: 0, end: text.length, page: null, heading: null, text }));
  yield { kind: 'passages', from: 0, passages, words: [...texts] };
}

export const readingOf = (texts: readonly string[]) => ({
  state: texts.length > 0 ? ('ready' as const) : ('empty' as const),
  reason: null,
  language: 'en',
  pages: null,
  characters: texts.join('').length,
  passages: texts.length,
});

export function createLibrary(sql: Sql) {
  const documents = createDocumentStore(sql, createSearchEntries(), { reads: true });
  const contents = createContentStore(sql);

  /** Reads a document that is `pending`: these are its passages then. False where it is not. */
  async function read(id: string, texts: readonly string[], chunks = chunksOf(texts)): Promise<boolean> {
    const turn = await contents.begin(id);
    if (turn !== undefined) await contents.keep(turn, readingOf(texts), chunks);
    return turn !== undefined;
  }
  return {
    documents,
    contents,
    read,
    /** A document that waits to be read; with `texts`, it has been. */
    async add(owner: Viewer, options: Partial<NewDocument> & { texts?: readonly string[] } = {}) {
      const { texts, ...differences } = options;
      const id = newId();
      await documents.insert(newDocument(owner, { id, ...differences }));
      if (texts !== undefined) await read(id, texts);
      return id;
    },
    /** Other passages, by the text that a person gives. False where the document is binned or gone. */
    async replace(owner: Viewer, id: string, texts: readonly string[]): Promise<boolean> {
      const given = { text: texts.join(''), format: 'text' as const, language: null };
      return (await contents.give(owner, id, given, SERVICE)) && read(id, texts);
    },
    async patch(owner: Viewer, id: string, changes: DocumentChanges): Promise<boolean> {
      const found = await documents.find(owner, id, 'editable');
      return found !== undefined && (await documents.update(owner, found, changes, SERVICE)) !== undefined;
    },
    bin: (owner: Viewer, id: string) => documents.bin(owner, id, SERVICE),
    restore: async (owner: Viewer, id: string) => (await documents.restore(owner, id, SERVICE)) !== undefined,
    archive: async (owner: Viewer, id: string, archived: boolean) =>
      (await documents.setArchived(owner, { id, archivedAt: null }, archived, SERVICE)) !== undefined,
    purge: async (owner: Viewer, id: string) => (await documents.purge(owner, id, SERVICE)).length > 0,
    empty: (owner: Viewer, limit: number) => documents.purgeOwn(owner, limit, SERVICE),
  };
}
