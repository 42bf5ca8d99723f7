// Pending lists on the GIN indexes: what they save writers, and what they cost the searches beside these.

import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { median } from '../compute/statistics.ts';
import type { Load } from '../lib/k6.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { ask } from './load-generator.ts';
import { probe, requestsOf, type Session, warmUp } from './session.ts';
import { EVERYTHING, FACET_RANGE, LARGE_SHAPES } from './shapes.ts';
import { insertFor, removeInserted } from './writes.ts';

const GIN = ['document_search_name_parts', 'document_search_terms', 'document_texts_words'];

/** In kB; 0: none. */
const LIMITS = [0, 256, 1024, 4096];
const ROUNDS = 2;
/** k6 starts and ends between two measurements. */
const PAUSE_SECONDS = 1.5;
const SHAPES = [
  FACET_RANGE,
  EVERYTHING,
  ...LARGE_SHAPES.filter(({ name }) => name === 'three common facets'),
];

type Measured = { rate: number; alone: Load[]; beside: Load[] };

/** Lists of so many kB, emptied first. */
export async function setPending(sql: Sql, limit: number): Promise<void> {
  for (const index of GIN) {
    const size = limit === 0 ? 'fastupdate = off' : `fastupdate = on, gin_pending_list_limit = ${limit}`;
    await sql.unsafe(`ALTER INDEX ${index} SET (${size})`);
    await sql`SELECT gin_clean_pending_list(${index}::regclass)`;
  }
}

/** Each limit in turn, its searches alone and then beside as many inserts as go. */
export async function measurePending(session: Session): Promise<void> {
  const { server, large, seconds } = session;
  const sql = connectPostgres({
    url: server.databaseUrl,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  const batches = SHAPES.map((shape) => requestsOf(session, shape, { who: 'reader', workspaces: [large] }));
  const askAll = async (): Promise<Load[]> => {
    const loads: Load[] = [];
    for (const requests of batches) loads.push(await ask(requests, { inFlight: 1, seconds }));
    return loads;
  };
  const measured = new Map<number, Measured[]>(LIMITS.map((limit) => [limit, []]));
  try {
    await warmUp(session, batches);
    for (const requests of batches) await probe(requests);
    for (let round = 0; round < ROUNDS; round++) {
      for (const limit of round % 2 === 0 ? LIMITS : LIMITS.toReversed()) {
        await setPending(sql, limit);
        const alone = await askAll();
        const writing = insertFor(server.databaseUrl, large, batches.length * (seconds + PAUSE_SECONDS));
        const beside = await askAll();
        measured.get(limit)?.push({ rate: await writing, alone, beside });
        console.error(`  lists of ${limit} kB: ${whole(measured.get(limit)?.at(-1)?.rate ?? 0)} inserts/s`);
      }
    }
  } finally {
    await setPending(sql, 0);
    await sql.end({ timeout: 1 });
    await removeInserted(server.databaseUrl);
  }
  printTable(
    `Pending lists, 16 inserting, searches one at a time, ${ROUNDS} rounds in turn; p50 · p95 ms alone → beside the inserts`,
    ['lists of', 'inserts/s', ...SHAPES.map(({ name }) => name)],
    [...measured].map(([limit, rounds]) => [
      limit === 0 ? 'none' : `${limit} kB`,
      rounds.map(({ rate }) => whole(rate)).join(', '),
      ...SHAPES.map((_, at) => {
        const times = (part: 'alone' | 'beside'): string =>
          (['p50Ms', 'p95Ms'] as const)
            .map((share) => milliseconds(median(rounds.map((each) => each[part][at]?.[share] ?? 0))))
            .join(' · ');
        return `${times('alone')} → ${times('beside')}`;
      }),
    ]),
  );
}
