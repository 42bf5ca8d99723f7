// Documents that were stored earlier are embedded: what it costs other requests, and whether memory stays as it is.

import { createLibrary } from '../../test/documents/vectors/library.ts';
import { eventually } from '../../test/support/child.ts';
import { type TestDatabase, testDatabase } from '../../test/support/database.ts';
import { type RunningService, startService, WORKSPACE } from '../../test/support/service.ts';
import { measureBeside } from '../lib/latencies.ts';
import { memoryMiB } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';

const ROUNDS = 4;
/** Of the threads that embed. */
const COMPUTE_NICENESS = 10;
const DOCUMENTS_A_ROUND = 250;
const PASSAGES_A_DOCUMENT = 4;
/** Characters of a passage: about what a reading makes. */
const SENTENCE =
  'The pump stands in the workshop, and its seal is changed once a year before the winter begins. ';
const ENDS_WITHIN_MS = 3_600_000;

export async function measureCatchUp(documents: number): Promise<void> {
  await using database = await testDatabase();
  const ids = await store(database, documents + ROUNDS * DOCUMENTS_A_ROUND);
  await using service = await startService({ environment: { CONTENT: 'on', DATABASE_URL: database.url } });
  const rounds = ids.slice(0, ROUNDS * DOCUMENTS_A_ROUND);
  await measureBeside({
    url: service.url,
    pid: service.child.pid,
    what: 'the embedding of documents',
    niceness: COMPUTE_NICENESS,
    rounds: ROUNDS,
    async work(round) {
      const some = rounds.slice(round * DOCUMENTS_A_ROUND, (round + 1) * DOCUMENTS_A_ROUND);
      const begun = performance.now();
      await show(service, database, some);
      await embedded(database, (round + 1) * DOCUMENTS_A_ROUND);
      return `${whole(DOCUMENTS_A_ROUND / ((performance.now() - begun) / 1000))} documents a second`;
    },
  });
  await memory(service, database, ids.slice(rounds.length));
}

/** Documents with passages that the service does not see yet. */
async function store({ sql }: TestDatabase, count: number): Promise<string[]> {
  const library = createLibrary(sql, WORKSPACE);
  const ids: string[] = [];
  for (let from = 0; from < count; from += 5)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(5, count - from) }, (_, at) =>
          library.add(
            Array.from(
              { length: PASSAGES_A_DOCUMENT },
              (_passage, passage) => `${from + at}.${passage} ${SENTENCE.repeat(12)}`,
            ),
          ),
        ),
      )),
    );
  await sql`UPDATE document_contents SET state = 'off'`;
  await sql`DELETE FROM jobs`;
  return ids;
}

/** The documents are ready, and the catch-up looks for such. */
async function show(service: RunningService, { sql }: TestDatabase, ids: string[]): Promise<void> {
  await sql`UPDATE document_contents SET state = 'ready' WHERE document_id = ANY (${ids}::uuid[])`;
  service.child.kill('SIGHUP');
}

const embedded = ({ sql }: TestDatabase, count: number): Promise<unknown> =>
  eventually(
    'the documents to be embedded',
    async () => {
      await Bun.sleep(300);
      const [row] = await sql<{ count: number }[]>`SELECT count(*)::int FROM document_embeddings`;
      return (row?.count ?? 0) >= count;
    },
    ENDS_WITHIN_MS,
  );

/** Resident memory of the service, at quarters of all the documents that are caught up with in one go. */
async function memory(service: RunningService, database: TestDatabase, ids: string[]): Promise<void> {
  const before = ROUNDS * DOCUMENTS_A_ROUND;
  const rows: string[][] = [['0', whole(memoryMiB(service.child.pid).now), '']];
  const begun = performance.now();
  await show(service, database, ids);
  for (const quarter of [1, 2, 3, 4]) {
    const count = Math.floor((ids.length * quarter) / 4);
    await embedded(database, before + count);
    const seconds = (performance.now() - begun) / 1000;
    rows.push([whole(count), whole(memoryMiB(service.child.pid).now), whole(seconds)]);
  }
  printTable('Resident memory of the service, MiB', ['documents embedded', 'service', 'after s'], rows);
}
