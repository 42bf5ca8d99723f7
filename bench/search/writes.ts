// Documents that are written while the corpus stands: changes over HTTP, and inserts as a confirm makes them.

import { newId, newRandomId } from '../../src/core/ids.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { CORPUS_END, documentAt, type Workspace } from './corpus.ts';
import { keyOf } from './load.ts';
import type { Patch } from './load-generator.ts';
import { below, createRandom, pick } from './random.ts';

const PATCHES = 4000;
/** Made beforehand: the time is for writing. */
const LIKES = 4000;
const INSERTS_IN_FLIGHT = 16;
const DELETED_AT_ONCE = 1000;

/** Each gives a document labels, slots and a summary of another: the corpus keeps its proportions. */
export function patchesOf(url: string, workspace: Workspace): Patch[] {
  const random = createRandom(2);
  const patches: Patch[] = [];
  while (patches.length < PATCHES) {
    const { id, status } = documentAt(workspace, below(random, workspace.documents));
    if (status === 'deleted') continue;
    const { tags, categories, slots, summary } = documentAt(workspace, below(random, workspace.documents));
    patches.push({
      url: `${url}/v1/metadata/${workspace.id}/${id}`,
      key: keyOf(workspace, 'admin'),
      body: JSON.stringify({ tags, categories, slots, summary }),
    });
  }
  return patches;
}

/** Inserts into the workspace until the time is over; returns how many a second. */
export async function insertFor(databaseUrl: string, workspace: Workspace, seconds: number): Promise<number> {
  const sql = connectPostgres({
    url: databaseUrl,
    applicationName: 'bench',
    log: silentLog,
    connectionsMax: INSERTS_IN_FLIGHT,
  });
  const store = createDocumentStore(sql, createSearchEntries());
  const random = createRandom(Date.now());
  const likes = Array.from({ length: LIKES }, () =>
    documentAt(workspace, below(random, workspace.documents)),
  );
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let inserted = 0;
  const insertOn = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const like = pick(random, likes);
      const id = newId();
      const status = like.status === 'deleted' ? 'public' : like.status;
      const objectKey = `${workspace.id}/${id}.${like.fileType}`;
      const stored = { uploadObject: '', contentType: 'application/octet-stream', objectKey };
      const document = { ...like, id, uploadId: newRandomId(), ...stored, status };
      await store.insert(document);
      inserted += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: INSERTS_IN_FLIGHT }, insertOn));
    return inserted / ((performance.now() - startedAt) / 1000);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Takes away what `insertFor` has added, in this run or in one that was broken off. */
export async function removeInserted(databaseUrl: string): Promise<void> {
  const sql = connectPostgres({
    url: databaseUrl,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    let removed = 0;
    do removed = await removeSome(sql);
    while (removed > 0);
    await sql.unsafe('VACUUM (ANALYZE)');
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Ids tell the time: those of the corpus end where it does. */
async function removeSome(sql: Sql): Promise<number> {
  const time = (CORPUS_END + 1000).toString(16).padStart(12, '0');
  const first = `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
  const gone = await sql`
    DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE id >= ${first}::uuid LIMIT ${DELETED_AT_ONCE})`;
  return gone.count;
}
