// With a search server that mirrors the documents: how long it takes to fill, and how late it is while they change.

import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { printTable } from '../lib/report.ts';
import { besideChanges, describeChanges } from './mixed.ts';
import type { Session } from './session.ts';
import { measureShapes } from './shape-tables.ts';

const FILL_TIMEOUT_MS = 3_600_000;
const POLL_MS = 50;
const LAG_P99_SECONDS_TARGET = 2;
/** Times the length of a measurement: the tail of a lag needs a while to show. */
const LAG_STRETCH = 12;

/** The shapes of an idle mirror, then again while documents change, and the lag meanwhile. */
export async function measureMirror(session: Session, perSecond: number): Promise<void> {
  const sql = connectPostgres({ url: session.server.databaseUrl, applicationName: 'bench', log: silentLog });
  try {
    const startedAt = performance.now();
    await filled(sql);
    console.log(
      `\nThe mirror was filled ${((performance.now() - startedAt) / 1000).toFixed(0)} s after the start.`,
    );
    await measureShapes(session, { mirrored: true, title: 'With Meilisearch' });
    await measureLag(session, sql, perSecond);
    await measureShapesDuringChanges(session, perSecond);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function filled(sql: Sql): Promise<void> {
  const deadline = performance.now() + FILL_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const [row] = await sql<{ done: boolean }[]>`
      SELECT EXISTS (SELECT FROM search_mirror WHERE ready)
        AND NOT EXISTS (SELECT FROM search_outbox WHERE refusal IS NULL) AS done`;
    if (row?.done === true) return;
    await Bun.sleep(POLL_MS);
  }
  throw new Error('the mirror was not filled within an hour');
}

/** The age of the oldest change that the search server lacks, many times a second: nothing is later than that. */
async function measureLag(session: Session, sql: Sql, perSecond: number): Promise<void> {
  const ages: number[] = [];
  const seconds = session.seconds * LAG_STRETCH;
  let done = false;
  const changing = besideChanges(session, perSecond, async () => undefined, seconds).finally(() => {
    done = true;
  });
  // From the first change on: the load generator needs a while to start.
  while (!done) {
    const [row] = await sql<{ age: number }[]>`
        SELECT coalesce(extract(epoch FROM clock_timestamp() - min(queued_at)), 0)::float8 AS age
        FROM search_outbox WHERE refusal IS NULL`;
    if (ages.length > 0 || (row?.age ?? 0) > 0) ages.push(row?.age ?? 0);
    await Bun.sleep(POLL_MS);
  }
  const { changes } = await changing;
  const sorted = ages.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const [p50, p95, p99] = [at(0.5), at(0.95), at(0.99)];
  const drainedAt = performance.now();
  await filled(sql);
  printTable(
    `Lag of the mirror during ${describeChanges(changes)}, ${ages.length} samples of the oldest change it lacks`,
    ['p50', 'p95', 'p99', 'empty after the end', 'target'],
    [
      [
        ...[p50, p95, p99, (performance.now() - drainedAt) / 1000].map((value) => `${value.toFixed(2)} s`),
        `p99 < ${LAG_P99_SECONDS_TARGET} s: ${p99 < LAG_P99_SECONDS_TARGET ? 'met' : '**missed**'}`,
      ],
    ],
  );
}

/** Changes go on for as long as the shapes take: a stretch is begun again until they are done. */
async function measureShapesDuringChanges(session: Session, perSecond: number): Promise<void> {
  let done = false;
  const keepChanging = async (): Promise<void> => {
    while (!done) {
      const stretch = session.seconds * LAG_STRETCH;
      const { changes } = await besideChanges(session, perSecond, async () => undefined, stretch);
      console.error(`  ${describeChanges(changes)}`);
    }
  };
  const changing = keepChanging();
  try {
    await measureShapes(session, {
      mirrored: true,
      title: `With Meilisearch, during ${perSecond} changes/s`,
    });
  } finally {
    done = true;
    await changing;
  }
}
