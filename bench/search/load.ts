// The database that search is measured on. It is kept in a data folder, which the service then runs on, and made
// anew only when it would look different.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBootstrap } from '../../src/access/bootstrap.ts';
import { hashSecret, shownPrefix } from '../../src/access/key-text.ts';
import { createKeyStore } from '../../src/access/store/keys.ts';
import { SERVICE } from '../../src/core/author.ts';
import { systemClock } from '../../src/core/clock.ts';
import { newId } from '../../src/core/ids.ts';
import { ENTRY_FORM, toSearchEntry } from '../../src/documents/search/entry.ts';
import { openDataFolder } from '../../src/embedded/data-folder.ts';
import { readConnection, startPostgres } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { MIGRATIONS, silentLog } from '../../test/support/database.ts';
import { openCopies, strip } from './bulk.ts';
import { documentAt, READER, userEmail, userId, type Workspace } from './corpus.ts';
import { COLUMNS, toLines } from './rows.ts';

const MARK = 'bench-corpus.json';
const PROGRESS_DOCUMENTS = 100_000;

/** Durability is bought anew by the clean end; until then a crash costs a load. */
export const BULK_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  shared_buffers: '1GB',
  maintenance_work_mem: '1GB',
  work_mem: '256MB',
  max_wal_size: '16GB',
  // What an index that is made anew would write to the log.
  wal_level: 'minimal',
  max_wal_senders: '0',
};

/** The keys of a workspace, known from its name alone. */
export const keyOf = (workspace: Workspace, who: 'admin' | 'reader'): string =>
  `bench-key-${who}-${workspace.id}-${'0'.repeat(32)}`;

/**
 * Makes sure that the folder holds the workspaces' documents. With `keep`, those stay that other sources of the bench have made in the same
 * number for the same schema. Throws when it holds something else than a corpus, or another one that is in use.
 */
export async function ensureCorpus(
  folder: string,
  workspaces: readonly Workspace[],
  { keep = false } = {},
): Promise<void> {
  const mark = join(folder, MARK);
  const { made, shape } = fingerprints(workspaces);
  const wanted = JSON.stringify({ made, shape, sizes: workspaces.map((each) => each.documents) });
  const present = existsSync(mark) ? readFileSync(mark, 'utf8') : '';
  if (present === wanted || (keep && present.includes(`"shape":"${shape}"`))) return;
  if (existsSync(folder) && !existsSync(mark) && readdirSync(folder).length > 0)
    throw new Error(`${folder} holds something else than a corpus of this benchmark`);
  if (readConnection(join(folder, 'postgres')) !== undefined) throw new Error(`${folder} is in use`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(mark, 'unfinished');
  await load(folder, workspaces);
  writeFileSync(mark, wanted);
}

/** Of everything that decides what the database holds, and without the sources that make it. */
function fingerprints(workspaces: readonly Workspace[]): { made: string; shape: string } {
  const hasher = new Bun.CryptoHasher('sha256').update(JSON.stringify([ENTRY_FORM, workspaces]));
  const add = (folder: string, names: readonly string[]): void => {
    for (const name of names) hasher.update(readFileSync(join(folder, name)));
  };
  add(MIGRATIONS, readdirSync(MIGRATIONS).sort());
  const shape = hasher.copy().digest('hex');
  add(import.meta.dir, ['corpus.ts', 'vocabulary.ts', 'random.ts', 'rows.ts', 'bulk.ts', 'load.ts']);
  return { made: hasher.digest('hex'), shape };
}

async function load(folder: string, workspaces: readonly Workspace[]): Promise<void> {
  const data = openDataFolder(folder);
  const directory = join(folder, 'postgres');
  const server = await startPostgres({ directory, log: silentLog, settings: BULK_SETTINGS });
  const sql = connectPostgres({
    url: server.url,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    await step('schema and keys', async () => {
      await migrate(sql, { directory: MIGRATIONS, log: silentLog });
      await createAccess(sql, workspaces);
    });
    const restore = await strip(sql);
    const words = await step('documents and entries', () => copyAll(server.url, workspaces));
    await step('words', async () => {
      await sql`INSERT INTO document_words (word) SELECT unnest(${[...words].sort()}::text[])`;
    });
    await step('indexes', restore);
    await step('vacuum', async () => {
      await sql`UPDATE document_search_form SET version = ${ENTRY_FORM}`;
      await checkClasses(sql);
      await sql.unsafe('VACUUM (ANALYZE)');
      await sql.unsafe('CHECKPOINT');
    });
  } finally {
    await sql.end();
    await server.stop();
    data.close();
  }
}

export async function step<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await work();
  console.log(`  ${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}

/** An administrator with every scope, and the reader: somebody who works with documents and no more. */
export async function createAccess(sql: Sql, workspaces: readonly Workspace[]): Promise<void> {
  const bootstrap = createBootstrap({ sql, clock: systemClock, log: silentLog });
  const keys = createKeyStore(sql);
  for (const workspace of workspaces) {
    await bootstrap({ workspace: workspace.id, key: keyOf(workspace, 'admin') });
    const text = keyOf(workspace, 'reader');
    await keys.insert({
      id: newId(),
      workspaceId: workspace.id,
      name: 'bench',
      prefix: shownPrefix(text),
      hash: hashSecret(text),
      scopes: ['documents:read', 'documents:write'],
      limits: {},
      expiresAt: null,
      createdAt: systemClock.now(),
      author: SERVICE,
      userEmail: userEmail(workspace, READER),
      userId: userId(workspace, READER),
      emitsUserEvent: false,
    });
  }
}

/** Returns the words that people may mistype. */
async function copyAll(url: string, workspaces: readonly Workspace[]): Promise<Set<string>> {
  const words = new Set<string>();
  const copies = await openCopies(url, COLUMNS);
  const total = workspaces.reduce((sum, { documents }) => sum + documents, 0);
  let done = 0;
  for (const workspace of workspaces) {
    for (let position = 0; position < workspace.documents; position++) {
      const document = documentAt(workspace, position);
      const entry = await toSearchEntry(document);
      for (const word of entry.vocabulary) words.add(word);
      await copies.add(toLines(document, entry));
      done += 1;
      if (done % PROGRESS_DOCUMENTS === 0) console.log(`  ${done} of ${total} documents`);
    }
  }
  await copies.end();
  return words;
}

async function checkClasses(sql: Sql): Promise<void> {
  const [row] = await sql<{ wrong: number }[]>`
    SELECT count(*)::int AS wrong FROM documents d FULL JOIN document_search s USING (id)
    WHERE s.class IS DISTINCT FROM document_class(d.status, d.archived_at)`;
  if (row?.wrong !== 0) throw new Error(`${row?.wrong} documents have another class than their rows say`);
}
