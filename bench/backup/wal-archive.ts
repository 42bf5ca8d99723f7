// What an archive of the write-ahead log costs the writes of a service: one with it and one without, in turn.

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { readStatus } from '../../src/embedded/wal-archive/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../test/support/service.ts';
import { multiple, printTable, whole } from '../lib/report.ts';

const REQUESTS_AT_ONCE = 16;
const ROWS_PER_STATEMENT = 1000;

type Side = { service: RunningService; sql: Sql; document: string };

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '5' } },
  });
  const seconds = Number(values.seconds);
  await using without = await startService({ postgres: 'embedded' });
  await using archiving = await startService({
    postgres: 'embedded',
    environment: { WAL_ARCHIVE_BUCKET: 'wal' },
  });
  const sides = [await prepare(without), await prepare(archiving)] as const;
  const patches: number[][] = [[], []];
  const rows: number[][] = [[], []];
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [index, side] of round % 2 === 0 ? [...sides.entries()] : [...sides.entries()].reverse()) {
      patches[index]?.push(await rate(seconds, REQUESTS_AT_ONCE, () => patch(side)));
      rows[index]?.push((await rate(seconds, 1, () => insert(side))) * ROWS_PER_STATEMENT);
    }
  }
  const line = (what: string, [off = [], on = []]: number[][]): string[] => [
    what,
    whole(median(off)),
    whole(median(on)),
    multiple(median(on) / median(off)),
  ];
  const { archived } = readStatus(join(archiving.dataDir, 'postgres')) ?? {};
  printTable(
    `an archive of the write-ahead log, which took ${archived} segments; medians of ${values.rounds} rounds of ${seconds} s`,
    ['a second', 'without', 'with', 'ratio'],
    [line('documents changed over HTTP', patches), line('rows of 1 kB by SQL', rows)],
  );
  await Promise.all(sides.map(({ sql }) => sql.end()));
}

async function prepare(service: RunningService): Promise<Side> {
  const url = readConnection(join(service.dataDir, 'postgres')) ?? '';
  const sql = connectPostgres({ url, applicationName: 'bench', log: silentLog, statementTimeoutMs: 0 });
  await sql`CREATE TABLE bench_rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text)`;
  const [row] = await sql<{ id: string }[]>`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    SELECT gen_random_uuid(), ${WORKSPACE}, gen_random_uuid(), id, 'a.txt', 'a', 'public' FROM users LIMIT 1
    RETURNING id`;
  return { service, sql, document: row?.id ?? '' };
}

async function patch({ service, document }: Side): Promise<void> {
  const answer = await fetch(`${service.url}/v1/metadata/${WORKSPACE}/${document}`, {
    method: 'PUT',
    headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ summary: crypto.randomUUID() }),
  });
  await answer.text();
  if (!answer.ok) throw new Error(`a change was answered ${answer.status}`);
}

const insert = async ({ sql }: Side): Promise<void> =>
  void (await sql`
    INSERT INTO bench_rows (text)
    SELECT repeat(gen_random_uuid()::text, 28) FROM generate_series(1, ${ROWS_PER_STATEMENT})`);

/** How often a second `work` is done by so many at once. */
async function rate(seconds: number, atOnce: number, work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  const until = from + seconds * 1000;
  let done = 0;
  const repeat = async (): Promise<void> => {
    while (performance.now() < until) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, repeat));
  return done / ((performance.now() - from) / 1000);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
