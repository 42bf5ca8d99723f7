// Inserts as a confirm makes them, by how the database is set up: each design on the same corpus, from a checkpoint on, with
// what each row adds to the write-ahead log, and beside them the floor, a row of one column without an index.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../../src/core/ids.ts';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { postgresMicros } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import type { Workspace } from './corpus.ts';
import { setPending } from './pending.ts';
import { insertFor, removeInserted } from './writes.ts';

const IN_FLIGHT = 16;
const KIBIBYTE = 1024;

type Design = {
  name: string;
  settings?: Record<string, string>;
  before?: (sql: Sql) => Promise<unknown>;
  after?: (sql: Sql) => Promise<unknown>;
  floor?: true;
};

const COMPRESSED = { wal_compression: 'pglz' };
const SELDOM = { max_wal_size: '4GB', checkpoint_timeout: '30min' };

/** Search rows of new documents stand in tables of their own; the large ones are not touched. */
const RECENT = ['document_search', 'document_texts'] as const;

async function makeRecent(sql: Sql): Promise<void> {
  await sql.unsafe('CREATE SCHEMA recent');
  for (const table of RECENT)
    await sql.unsafe(`CREATE TABLE recent.${table} (LIKE public.${table} INCLUDING ALL)`);
  await sql.unsafe(`CREATE TRIGGER document_search_inserted AFTER INSERT ON recent.document_search
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION document_search_inserted()`);
}

/** What the job would have to do: moves all rows into the large tables, and says what a row takes. */
async function mergeRecent(sql: Sql): Promise<void> {
  const startedAt = performance.now();
  const begin = await walOf(sql);
  let moved = 0;
  for (const [table, key] of [
    ['document_search', 'name'],
    ['document_texts', 'id'],
  ] as const) {
    const columns = (
      await sql<{ name: string }[]>`SELECT attname AS name FROM pg_attribute
        WHERE attrelid = ${`public.${table}`}::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'number'`
    )
      .map(({ name }) => name)
      .join(', ');
    const done = await sql.unsafe(
      `INSERT INTO public.${table} (${columns}) SELECT ${columns} FROM recent.${table} ORDER BY ${key}`,
    );
    moved = done.count;
  }
  const end = await walOf(sql);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `  merged ${moved} rows in one batch: ${whole(moved / seconds)} a second, ${((end.bytes - begin.bytes) / moved / KIBIBYTE).toFixed(1)} KiB of log a row`,
  );
  await sql.unsafe('DROP SCHEMA recent CASCADE');
}

const NOW: Design = { name: 'as the service has it' };

const DESIGNS: readonly Design[] = [
  { name: 'floor: one row without an index', floor: true },
  NOW,
  { name: 'pages in the log compressed (pglz)', settings: COMPRESSED },
  { name: 'a checkpoint in 4 GB', settings: SELDOM },
  { name: 'both', settings: { ...COMPRESSED, ...SELDOM } },
  {
    name: 'both, `shared_buffers` 2 GB',
    settings: { ...COMPRESSED, ...SELDOM, shared_buffers: '2GB' },
  },
  {
    name: 'both, `commit_delay` 1 ms',
    settings: { ...COMPRESSED, ...SELDOM, commit_delay: '1000', commit_siblings: '4' },
  },
  {
    name: 'both, pending lists of 4 MB',
    settings: { ...COMPRESSED, ...SELDOM },
    before: (sql) => setPending(sql, 4096),
    after: (sql) => setPending(sql, 0),
  },
  {
    name: 'both, search rows in small tables beside the large ones',
    settings: { ...COMPRESSED, ...SELDOM, search_path: 'recent,public' },
    before: makeRecent,
    after: mergeRecent,
  },
  { name: 'as the service has it, again' },
];

type Wal = { bytes: number; pages: number };

async function walOf(sql: Sql): Promise<Wal> {
  const [row] = await sql<Wal[]>`
    SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes, (SELECT wal_fpi::float8 FROM pg_stat_wal) AS pages`;
  return row ?? { bytes: 0, pages: 0 };
}

/** Busy and waiting for the disk, in shares of all processors, since the same was read before. */
function processors(): { busy: number; waiting: number; all: number } {
  const fields = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const all = fields.reduce((sum, field) => sum + field, 0);
  const [, , , idle = 0, waiting = 0] = fields;
  return { busy: all - idle - waiting, waiting, all };
}

export async function measureDesigns({
  folder,
  large,
  seconds,
  only,
}: {
  folder: string;
  large: Workspace;
  seconds: number;
  only: RegExp;
}): Promise<void> {
  const rows: string[][] = [];
  for (const design of DESIGNS.filter(({ name }) => only.test(name))) {
    const row = await measureDesign(design, { folder, large, seconds });
    console.log(`  ${row.join(' | ')}`);
    rows.push(row);
  }
  await clear(folder);
  printTable(
    `Inserts by design, ${IN_FLIGHT} in flight, ${seconds} s each`,
    ['design', 'a second', 'log KiB a row', 'pages in it', 'Postgres µs', 'processors busy', 'waiting'],
    rows,
  );
}

async function measureDesign(
  { name, settings = {}, before, after, floor }: Design,
  { folder, large, seconds }: { folder: string; large: Workspace; seconds: number },
): Promise<string[]> {
  const directory = join(folder, 'postgres');
  const server = await startPostgres({ directory, log: silentLog, settings });
  const sql = connectPostgres({
    url: server.url,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    await before?.(sql);
    await sql.unsafe('CHECKPOINT');
    const [begin, processorsBegin, microsBegin] = [await walOf(sql), processors(), postgresMicros(folder)];
    const rate = floor ? await floorFor(server.url, seconds) : await insertFor(server.url, large, seconds);
    const [end, processorsEnd, microsEnd] = [await walOf(sql), processors(), postgresMicros(folder)];
    const written = rate * seconds;
    const all = processorsEnd.all - processorsBegin.all;
    const share = (part: number): string => `${Math.round((part / all) * 100)} %`;
    await after?.(sql);
    return [
      name,
      whole(rate),
      ((end.bytes - begin.bytes) / written / KIBIBYTE).toFixed(1),
      ((end.pages - begin.pages) / written).toFixed(1),
      whole((microsEnd - microsBegin) / written),
      share(processorsEnd.busy - processorsBegin.busy),
      share(processorsEnd.waiting - processorsBegin.waiting),
    ];
  } finally {
    await sql.end({ timeout: 1 });
    await server.stop();
  }
}

async function floorFor(url: string, seconds: number): Promise<number> {
  const sql = connectPostgres({ url, applicationName: 'bench', log: silentLog, connectionsMax: IN_FLIGHT });
  await sql`CREATE TABLE bench_floor (id uuid)`;
  const endsAt = performance.now() + seconds * 1000;
  let written = 0;
  const write = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await sql`INSERT INTO bench_floor VALUES (${newId()})`;
      written += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: IN_FLIGHT }, write));
    return written / seconds;
  } finally {
    await sql`DROP TABLE bench_floor`;
    await sql.end({ timeout: 1 });
  }
}

/** Once, at the end: it takes longer than a design. */
async function clear(folder: string): Promise<void> {
  const server = await startPostgres({ directory: join(folder, 'postgres'), log: silentLog });
  try {
    await removeInserted(server.url);
  } finally {
    await server.stop();
  }
}
