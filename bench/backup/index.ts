// Backups: their speed against `cp` of the data folder, and what they cost the requests of the service meanwhile.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NICENESS } from '../../src/admin/backup.ts';
import { newId } from '../../src/core/ids.ts';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { createTransfer } from '../../src/infra/s3/transfer.ts';
import { silentLog } from '../../test/support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../../test/support/service.ts';
import { measureBeside } from '../lib/latencies.ts';
import { multiple, printTable, whole } from '../lib/report.ts';

const ADMIN = join(import.meta.dir, '../../src/admin.ts');
const PUTS_AT_ONCE = 64;
const MEBIBYTE = 1024 ** 2;

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      documents: { type: 'string', default: '10000' },
      events: { type: 'string', default: '100000' },
      bytes: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '3' },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-backup-'));
  await using service = await startService({ postgres: 'embedded' });
  try {
    const url = readConnection(join(service.dataDir, 'postgres')) ?? '';
    const sql = connectPostgres({ url, applicationName: 'bench', log: silentLog, statementTimeoutMs: 0 });
    await fill(sql, service.dataDir, {
      documents: Number(values.documents),
      events: Number(values.events),
      bytes: Number(values.bytes),
    });
    await sql.end();
    await compare(service.dataDir, folder);
    const query = `size=10&authorization=${encodeURIComponent(BOOTSTRAP_KEY)}`;
    await measureBeside({
      url: `${service.url}/api/v1/workspace_metric/${WORKSPACE}/by_created_at?${query}`,
      pid: service.child.pid,
      what: 'a backup',
      niceness: NICENESS,
      most: 2,
      rounds: Number(values.rounds),
      work: async (round) => {
        const seconds = await timed(() => backUp(service.dataDir, join(folder, `${round}`)));
        return `one in ${seconds.toFixed(1)} s`;
      },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function fill(
  sql: Sql,
  dataDir: string,
  { documents, events, bytes }: { documents: number; events: number; bytes: number },
): Promise<void> {
  const { secretAccessKey, port } = JSON.parse(readFileSync(join(dataDir, 'object-store.json'), 'utf8'));
  const endpoint = `http://127.0.0.1:${port}`;
  const keys = { accessKeyId: 'atrium', secretAccessKey };
  const transfer = createTransfer(
    createObjectStore({
      endpoint,
      publicEndpoint: endpoint,
      region: 'us-east-1',
      bucket: 'atrium',
      formProfile: 'standard',
      ...keys,
    }),
  );
  const ids = Array.from({ length: documents }, () => newId());
  const rest = ids.values();
  const put = async (): Promise<void> => {
    for (const id of rest)
      await transfer.put(`${WORKSPACE}/${id}.txt`, {
        size: bytes,
        type: 'text/plain',
        body: new Blob([randomBytes(bytes)]),
      });
  };
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, put));
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status, file_size, file_type)
    SELECT id, ${WORKSPACE}, gen_random_uuid(), gen_random_uuid(), id || '.txt', ${WORKSPACE} || '/' || id || '.txt',
      'private', ${bytes}, 'txt' FROM unnest(${sql.array(ids)}::uuid[]) AS id`;
  await sql`
    INSERT INTO usage_events (workspace_id, created_at, id, event_id, source, type, subject, time, data, value)
    SELECT ${WORKSPACE}, now() AT TIME ZONE 'UTC' - n * interval '1 ms', gen_random_uuid(), gen_random_uuid()::text,
      'bench', 'messages.user.new', 'person' || n % 1000 || '@example.com', now() AT TIME ZONE 'UTC',
      json_build_object('value', '1', 'message_id', n, 'chat_session_id', n / 10), 1
    FROM generate_series(1, ${events}) AS n`;
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`.catch(() => undefined);
}

/** A whole backup and one after it, against `cp` of the folder and of the backup. */
async function compare(dataDir: string, folder: string): Promise<void> {
  const target = join(folder, 'first');
  // Once before, so that each of them finds the files in memory.
  await execute(['cp', '-r', dataDir, join(folder, 'warm')]);
  const copied = await timed(() => execute(['cp', '-r', dataDir, join(folder, 'copy')]));
  const complete = await timed(() => backUp(dataDir, target));
  const again = await timed(() => backUp(dataDir, target));
  const verified = await timed(() => admin(dataDir, ['verify', target]));
  const restored = await timed(() => admin(join(folder, 'data'), ['restore', target]));
  const size = async (path: string): Promise<number> =>
    Number((await execute(['du', '-sb', path])).split('\t')[0]) / MEBIBYTE;
  const row = (what: string, seconds: number): string[] => [
    what,
    seconds.toFixed(1),
    multiple(copied / seconds),
  ];
  printTable(
    `a data folder of ${whole(await size(dataDir))} MiB, a backup of ${whole(await size(target))} MiB`,
    ['', 'seconds', 'of the speed of cp'],
    [
      row('cp -r of the data folder', copied),
      row('backup', complete),
      row('backup, nothing new', again),
      row('verify', verified),
      row('restore', restored),
    ],
  );
}

const backUp = (dataDir: string, folder: string): Promise<string> => admin(dataDir, ['backup', folder]);

export const admin = (
  dataDir: string,
  words: readonly string[],
  settings: Record<string, string> = {},
): Promise<string> =>
  // As `bun run admin` sets it: how many calls of the disk run at once.
  execute([process.execPath, ADMIN, ...words], { UV_THREADPOOL_SIZE: '64', DATA_DIR: dataDir, ...settings });

async function execute(
  command: readonly string[],
  environment: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const out = await new Response(child.stdout).text();
  // `cp` of a running database may miss a file that has just gone.
  if ((await child.exited) !== 0 && command[0] !== 'cp') throw new Error(`${command.join(' ')} failed`);
  return out;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}
