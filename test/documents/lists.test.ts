// A page of the bin is bounded in bytes as well as in rows, and paging still gives every document once.

import { expect, test } from 'bun:test';
import { newId } from '../../src/core/ids.ts';
import { LIST_BYTES_MAX } from '../../src/documents/limits.ts';
import type { Viewer } from '../../src/documents/policy.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import type { Position } from '../../src/http/paging.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

const viewer = (): Viewer => ({ workspaceId: 'acme', userId: newId(), email: 'a@b', admin: false });

async function fillBin({ workspaceId, userId }: Viewer, count: number, summaryLength: number): Promise<void> {
  await database.sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, summary, status,
      status_before_bin, deleted_at)
    SELECT gen_random_uuid(), ${workspaceId}, gen_random_uuid(), ${userId}, 'n' || i, 'acme/' || gen_random_uuid(),
      repeat('x', ${summaryLength}), 'deleted', 'private', now() - (i / 3) * interval '1 second'
    FROM generate_series(1, ${count}) AS i`;
}

async function walk(
  who: Viewer,
  limit: number,
): Promise<{ ids: string[]; pages: number[]; counts: Set<number> }> {
  const store = createDocumentStore(database.sql, createSearchEntries());
  const ids: string[] = [];
  const pages: number[] = [];
  const counts = new Set<number>();
  let after: Position | undefined;
  for (;;) {
    const { documents, count, more } = await store.listBin(who, { limit, after, all: false });
    ids.push(...documents.map(({ id }) => id));
    pages.push(documents.length);
    counts.add(count);
    const last = documents.at(-1);
    if (!more || last?.deletedAt == null) return { ids, pages, counts };
    after = { createdAt: last.deletedAt, id: last.id };
  }
}

test('large metadata makes short pages', async () => {
  const who = viewer();
  const summaryLength = 1_000_000;
  await fillBin(who, 12, summaryLength);
  const { ids, pages, counts } = await walk(who, 1000);
  expect(new Set(ids).size).toBe(12);
  expect(counts).toEqual(new Set([12]));
  expect(Math.max(...pages)).toBeLessThanOrEqual(Math.ceil(LIST_BYTES_MAX / summaryLength));
  expect(Math.min(...pages.slice(0, -1))).toBeGreaterThan(0);
});

test('small metadata fills pages up to the limit', async () => {
  const who = viewer();
  await fillBin(who, 25, 10);
  const { ids, pages, counts } = await walk(who, 10);
  expect(new Set(ids).size).toBe(25);
  expect(pages).toEqual([10, 10, 5]);
  expect(counts).toEqual(new Set([25]));
});
