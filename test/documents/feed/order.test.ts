// Changes of passages, and of who may see them, are numbered in the order in which they become visible.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { newId } from '../../../src/core/ids.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { createRandom, seedOfRun } from '../../faults/support/random.ts';
import { eventually } from '../../support/child.ts';
import { connectTo, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { chunksOf, createLibrary, readingOf, viewerOf } from './library.ts';

const database = await shared(testDatabase());
const { sql } = database;
const library = createLibrary(sql);

const newOwner = (): Viewer => viewerOf(`w-${crypto.randomUUID().slice(0, 8)}`);

type Change = { id: string; sequence: number; purged: boolean };

const changesOf = (workspaceId: string, on = sql): Promise<Change[]> => on`
  SELECT document_id AS id, sequence, purged_at IS NOT NULL AS purged FROM document_changes
  WHERE workspace_id = ${workspaceId} ORDER BY sequence`;
const lastOf = async (workspaceId: string): Promise<number> => {
  const [feed] = await sql<{ last: number }[]>`
    SELECT last_sequence AS last FROM document_feeds WHERE workspace_id = ${workspaceId}`;
  return feed?.last ?? 0;
};

/** Until a statement of the database waits for a lock. */
const untilSomeoneWaits = (): Promise<boolean> =>
  eventually('a statement that waits for a lock', async () => {
    const waiting = await sql`
      SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()`;
    return waiting.length > 0;
  });

/** Holds the counter of the workspace while `run` runs. */
async function whileCounterIsHeld(workspaceId: string, run: () => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    const held = await tx`SELECT FROM document_feeds WHERE workspace_id = ${workspaceId} FOR UPDATE`;
    expect(held.length).toBe(1);
    await run();
  });
}

test('each change of passages and of who sees them has the next number of its workspace', async () => {
  const owner = newOwner();
  const id = await library.add(owner, { texts: ['one', 'two'] });
  const other = await library.add(owner, { texts: ['else'] });
  const steps: [name: string, change: () => Promise<unknown>][] = [
    ['another text', () => library.replace(owner, id, ['three'])],
    ['a status', () => library.patch(owner, id, { status: 'public' })],
    ['access', () => library.patch(owner, id, { access: { curators: ['eve@example.com'] } })],
    ['an owner', () => library.patch({ ...owner, admin: true }, id, { ownerId: newId() })],
    ['the archive', () => library.archive({ ...owner, admin: true }, id, true)],
    ['out of it', () => library.archive({ ...owner, admin: true }, id, false)],
    ['the bin', () => library.bin({ ...owner, admin: true }, id)],
    ['out of it', () => library.restore({ ...owner, admin: true }, id)],
    ['no text any more', () => library.contents.switchOff({ ...owner, admin: true }, id, SERVICE)],
    ['the bin again', () => library.bin({ ...owner, admin: true }, id)],
    ['a purge', () => library.purge({ ...owner, admin: true }, id)],
  ];
  for (const [name, change] of steps) {
    const before = await lastOf(owner.workspaceId);
    await change();
    const after = { id, sequence: before + 1, purged: name === 'a purge' };
    expect({ name, changes: await changesOf(owner.workspaceId) }).toEqual({
      name,
      changes: [{ id: other, sequence: 2, purged: false }, after],
    });
  }
});

test('documents without passages, and changes of tags alone, do not wait for the counter', async () => {
  const owner = newOwner();
  const id = await library.add(owner, { texts: ['one'] });
  const empty = await library.add(owner, { texts: [] });
  await whileCounterIsHeld(owner.workspaceId, async () => {
    await library.patch(owner, id, { tags: ['a'], name: 'b.txt', summary: 'short', access: { note: 'x' } });
    await library.patch(owner, empty, { status: 'public' });
    await library.replace(owner, empty, []);
    await library.bin(owner, empty);
    await library.purge(owner, empty);
    await library.add(owner);
  });
  expect(await changesOf(owner.workspaceId)).toEqual([{ id, sequence: 1, purged: false }]);
});

test('a reading that stores a long text holds up no other change', async () => {
  const owner = newOwner();
  const id = await library.add(owner);
  const other = await library.add(owner, { texts: ['else'] });
  const [storing, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* slowly() {
    yield* chunksOf(['one']);
    storing.resolve();
    await go.promise;
  }
  const kept = library.read(id, ['one'], slowly());
  await storing.promise;
  await library.patch(owner, id, { status: 'public' });
  await library.bin(owner, id);
  await library.bin(owner, other);
  go.resolve();
  await kept;
  const changes = await changesOf(owner.workspaceId);
  expect(changes.map((change) => change.id)).toEqual([other, id]);
});

test('a reading waits for a change of who may see the document that does not know of it', async () => {
  const owner = newOwner();
  const id = await library.add(owner, { texts: [] });
  let replaced: Promise<unknown> = Promise.resolve();
  await sql.begin(async (tx) => {
    await tx`UPDATE documents SET status = 'public' WHERE id = ${id}`;
    replaced = library.replace(owner, id, ['one']);
    await untilSomeoneWaits();
    expect(await changesOf(owner.workspaceId)).toEqual([]);
  });
  expect(await replaced).toBe(true);
  expect(await changesOf(owner.workspaceId)).toEqual([{ id, sequence: 1, purged: false }]);
});

test('a document that comes out of the bin while it is read has the later number, or its passages have', async () => {
  const owner = newOwner();
  const id = await library.add(owner);
  await library.bin(owner, id);
  const turn = await library.contents.begin(id);
  if (turn === undefined) throw new Error('there is nothing to read');
  let kept: Promise<unknown> = Promise.resolve();
  await sql.begin(async (tx) => {
    await tx`
      UPDATE documents SET status = status_before_bin, status_before_bin = NULL, deleted_at = NULL WHERE id = ${id}`;
    kept = library.contents.keep(turn, readingOf(['one']), chunksOf(['one']));
    await untilSomeoneWaits();
    expect(await changesOf(owner.workspaceId)).toEqual([]);
  });
  await kept;
  expect(await changesOf(owner.workspaceId)).toEqual([{ id, sequence: 3, purged: false }]);
});

test('a statement that purges a thousand documents advances the counter once', async () => {
  const owner = newOwner();
  await sql`
    WITH added AS (
      INSERT INTO documents (id, workspace_id, upload_id, upload_object, owner_id, name, object_key, status, status_before_bin, deleted_at)
      SELECT gen_random_uuid(), ${owner.workspaceId}, gen_random_uuid(), '', ${owner.userId}, 'a', 'a', 'deleted', 'private', now()
      FROM generate_series(1, 1000) RETURNING id, workspace_id),
    contents AS (
      INSERT INTO document_contents (document_id, workspace_id, state) SELECT id, workspace_id, 'ready' FROM added)
    INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence, content_sequence)
    SELECT workspace_id, id, row_number() OVER (), row_number() OVER (), row_number() OVER () FROM added`;
  await sql`INSERT INTO document_feeds (workspace_id, last_sequence) VALUES (${owner.workspaceId}, 1000)`;
  await sql`CREATE TABLE advances AS SELECT 0 AS times`;
  await sql.unsafe(`
    CREATE FUNCTION count_advances() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE advances SET times = times + 1; RETURN NULL; END $$;
    CREATE TRIGGER counted AFTER UPDATE ON document_feeds FOR EACH ROW EXECUTE FUNCTION count_advances()`);
  try {
    expect((await library.empty(owner, 2000)).ids.length).toBe(1000);
    const [counted] = await sql<{ times: number }[]>`SELECT times FROM advances`;
    expect(counted).toEqual({ times: 1 });
  } finally {
    await sql.unsafe(
      'DROP TRIGGER counted ON document_feeds; DROP FUNCTION count_advances; DROP TABLE advances',
    );
  }
  const changes = await changesOf(owner.workspaceId);
  expect(changes.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1000 }, (_, at) => 1001 + at));
  expect(changes.every(({ purged }) => purged)).toBe(true);
});

/** One of many who change the same documents at random. */
async function changeAtRandom(on: Sql, owner: Viewer, ids: string[], seed: number): Promise<void> {
  const random = createRandom(seed);
  const own = createLibrary(on);
  for (let step = 0; step < 40; step++) {
    const id = random.pick(ids);
    if (id === undefined) return;
    const texts = Array.from({ length: random.below(3) }, (_, at) => `${step}-${at} `);
    const status = random.chance(0.5) ? 'public' : 'private';
    const changes = [
      async () => void ids.push(await own.add(owner, { texts: ['first'] })),
      () => own.replace(owner, id, texts),
      () => own.patch(owner, id, { status }),
      () => own.patch(owner, id, { tags: [`${step}`] }),
      () => own.archive(owner, id, random.chance(0.5)),
      () => own.bin(owner, id),
      () => own.restore(owner, id),
      () => own.purge(owner, id),
      () => own.empty(owner, 3),
    ];
    await random.pick(changes)?.();
  }
}

test('of many who change the same documents at once, none sees a lower number come after a higher one, and none is a deadlock', async () => {
  const seed = seedOfRun();
  console.log(`FAULT_SEED=${seed}`);
  const owner = newOwner();
  const ids = await Promise.all(Array.from({ length: 6 }, () => library.add(owner, { texts: ['one'] })));
  const connections = Array.from({ length: 4 }, () => connectTo(database.url, { connectionsMax: 2 }));
  let done = false;
  const seen = new Map<string, number>();
  const watch = async (): Promise<void> => {
    for (let highest = 0, last = false; !last; ) {
      last = done;
      const changes = await changesOf(owner.workspaceId);
      for (const { id, sequence } of changes) {
        const isNew = seen.get(id) !== sequence;
        expect({ seed, late: isNew && sequence <= highest }).toEqual({ seed, late: false });
        seen.set(id, sequence);
      }
      highest = Math.max(highest, ...changes.map(({ sequence }) => sequence));
    }
  };
  const watching = watch();
  const changed = await Promise.allSettled(
    connections.flatMap((on, at) => [
      changeAtRandom(on, owner, ids, seed + 2 * at),
      changeAtRandom(on, owner, ids, seed + 2 * at + 1),
    ]),
  );
  done = true;
  await watching;
  await Promise.all(connections.map((on) => on.end({ timeout: 1 })));
  expect(changed.filter(({ status }) => status === 'rejected')).toEqual([]);
  const isRight = await sql<object[]>`
    SELECT FROM document_contents d LEFT JOIN document_changes c USING (document_id)
    WHERE d.workspace_id = ${owner.workspaceId} AND d.passages > 0 AND c.document_id IS NULL`;
  expect(isRight.length).toBe(0);
});
