// A copy of the passages that a caller may see, as a vector store elsewhere keeps it: it applies the lines of the export.

import { expect } from 'bun:test';
import { FEED_START, parseFeedCursor } from '../../../src/documents/feed/cursor.ts';
import { readFeedPage } from '../../../src/documents/feed/page.ts';
import type { FeedStore } from '../../../src/documents/feed/store.ts';
import type { Viewer } from '../../../src/documents/policy.ts';

type Line = {
  document_id?: string;
  deleted?: true;
  passage?: number;
  text?: string;
  embedding?: number[];
  next_cursor?: string;
  more?: boolean;
};

const SECRET = Buffer.from('a secret of the test');

export function createFollower(store: FeedStore, viewer: Viewer, { embeddings = false } = {}) {
  let cursor = '';
  let wasKilled = false;
  const copy = new Map<string, Map<number, string>>();
  const tombstones: string[] = [];
  const vectors = new Map<string, (number[] | undefined)[]>();

  function apply({ document_id: id = '', deleted, passage = -1, text = '', embedding }: Line): void {
    if (deleted) {
      tombstones.push(id);
      copy.delete(id);
      return;
    }
    const passages = copy.get(id) ?? new Map<number, string>();
    if (!wasKilled)
      expect({ id, passage, repeated: passages.has(passage) }).toMatchObject({ repeated: false });
    copy.set(id, passages.set(passage, text));
    vectors.set(id, passage === 0 ? [embedding] : [...(vectors.get(id) ?? []), embedding]);
  }

  /** Applies one page; with `lines`, it is killed after so many of them, and has kept the cursor before. Returns `more`. */
  async function readPage({ limit = 1000, lines = Number.POSITIVE_INFINITY } = {}): Promise<boolean> {
    const position = cursor === '' ? FEED_START : parseFeedCursor(SECRET, { viewer, embeddings }, cursor);
    let applied = 0;
    for await (const text of readFeedPage(store, { viewer, embeddings, position, limit, secret: SECRET })) {
      for (const row of text.trimEnd().split('\n')) {
        const line = JSON.parse(row) as Line;
        if (line.next_cursor !== undefined) {
          expect(applied).toBeLessThanOrEqual(limit);
          cursor = line.next_cursor;
          return line.more === true;
        }
        if (applied === lines) {
          wasKilled = true;
          // Who begins without a cursor begins with nothing.
          if (cursor === '') copy.clear();
          return true;
        }
        apply(line);
        applied += 1;
      }
    }
    throw new Error('a page without its last line');
  }
  return {
    readPage,
    /** Until there is nothing more; returns what the copy has. */
    async catchUp(limit?: number): Promise<Record<string, string[]>> {
      while (await readPage(limit === undefined ? {} : { limit }));
      return this.copied();
    },
    copied: (): Record<string, string[]> =>
      Object.fromEntries(
        [...copy]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([id, passages]) => {
            const inOrder = [...passages].toSorted(([a], [b]) => a - b);
            expect(inOrder.map(([passage]) => passage)).toEqual(inOrder.map((_, at) => at));
            return [id, inOrder.map(([, text]) => text)];
          }),
      ),
    tombstones,
    /** Of each document, those of its passages that came last. */
    embeddings: vectors,
    cursor: () => cursor,
    /** Begins anew. */
    reset(): void {
      cursor = '';
      copy.clear();
    },
  };
}
