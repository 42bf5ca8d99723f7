// pgvector beside the scan in memory, over the same vectors: how fast, how exact, how large. Vectors are those of texts by the built-in
// model, and mixtures of two of them where more are asked for: made-up texts, or the paragraphs of files below `--texts FOLDER,FOLDER`.

import { LRUCache } from 'lru-cache';
import { createCompute } from '../../src/compute/index.ts';
import { LOCAL_EMBEDDING_MODEL } from '../../src/core/embed-texts.ts';
import type { VectorEngine } from '../../src/documents/vectors/engine.ts';
import { createGraphEngine } from '../../src/documents/vectors/graphs/engine.ts';
import { createGraphStore } from '../../src/documents/vectors/graphs/store.ts';
import { createGraphUpkeep } from '../../src/documents/vectors/graphs/upkeep.ts';
import { createLoading } from '../../src/documents/vectors/loading.ts';
import { createMemoryEngine } from '../../src/documents/vectors/memory-engine.ts';
import { type Query, quantise } from '../../src/documents/vectors/quantise.ts';
import { createScanner } from '../../src/documents/vectors/scanner.ts';
import { createSearchVectors, type SearchVectors } from '../../src/documents/vectors/search.ts';
import { createSpaces } from '../../src/documents/vectors/spaces.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { connectTo, silentLog } from '../../test/support/database.ts';
import { startPgvector } from '../../test/support/pgvector.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { passageAt } from '../retrieval/text.ts';

const { id: MODEL, dimensions: DIMENSIONS } = LOCAL_EMBEDDING_MODEL;
const WORKSPACE = 'bench';
const EMBEDDED = 20_000;
const PASSAGES_A_DOCUMENT = 50;
const ROWS_AT_ONCE = 2000;
const QUESTIONS = 200;
const LIMITS = [10, 100, 1000];
const MEMORY_BYTES_MAX = 4_294_967_296;

export async function measureGraph(passages: number, threads: number, folders: string[]): Promise<void> {
  await using server = await startPgvector();
  const { sql } = server;
  const log = silentLog as never;
  const compute = createCompute({
    settings: { threads, queueMax: 1024 },
    onInterrupt: () => () => undefined,
    log,
  });
  for (const job of compute.jobs) await job.start();
  const embed = (texts: string[]) => compute.embed(texts, new AbortController().signal);
  const texts = folders.length > 0 ? await paragraphsOf(folders) : madeUp();
  await fill(sql, passages, texts, embed);
  const scanner = createScanner({ threads, bytesMax: MEMORY_BYTES_MAX, onLost: () => undefined, log });
  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, scanner, bytesMax: MEMORY_BYTES_MAX, log });
  const memory = createMemoryEngine({ spaces, scanner, log });
  const answering = await loading.answering(WORKSPACE);
  if (answering === undefined) throw new Error('nothing is embedded');
  await spaces.current(answering);

  const begun = performance.now();
  const upkeep = createGraphUpkeep({
    sql,
    store: createGraphStore(sql),
    passagesMin: 1,
    memoryBytesMax: MEMORY_BYTES_MAX,
    log,
  });
  while ((await upkeep(new AbortController().signal)) === 'again');
  const seconds = (performance.now() - begun) / 1000;
  await sql`VACUUM ANALYZE document_graph_vectors`;
  const [size] = await sql<{ rows: number; graph: number }[]>`
    SELECT pg_table_size('document_graph_vectors')::float8 AS rows, sum(pg_relation_size(indexrelid))::float8 AS graph
    FROM pg_index WHERE indrelid = 'document_graph_vectors'::regclass AND NOT indisprimary`;
  console.log(
    `Making the graph of ${whole(passages)} passages: ${whole(seconds)} s; ${whole((size?.rows ?? 0) / passages)} bytes a ` +
      `passage in the table, ${whole((size?.graph ?? 0) / passages)} in the index`,
  );

  const searchWith = (engine: VectorEngine): SearchVectors =>
    createSearchVectors({
      loading,
      log,
      count: () => undefined,
      engineFor: () => engine,
      embeddings: { current: async () => MODEL, embed: async ({ texts }) => [await embed([...texts])] },
      queries: new LRUCache<string, Query>({ max: 1 }),
    });
  const questions = Array.from({ length: QUESTIONS }, (_, index) =>
    wordsOf(texts[(index * 97) % texts.length] ?? ''),
  );
  const exact = searchWith(memory);
  const rows: string[][] = [];
  const run = async (name: string, search: SearchVectors): Promise<void> => {
    for (const inFlight of [1, 8])
      rows.push([
        `${name}, 100 of all, ${inFlight} in flight`,
        ...(await measure(search, questions, { limit: 100, inFlight })),
      ]);
    rows.push([`${name}, 1,000 of all`, ...(await measure(search, questions, { limit: 1000, inFlight: 1 }))]);
  };
  await run('scan in memory', exact);
  const few = await sql<{ id: string }[]>`SELECT document_id AS id FROM document_embeddings LIMIT 500`;
  const documents = new Set(few.map(({ id }) => id));
  rows.push([
    'scan in memory, 100 of 500 documents',
    ...(await measure(exact, questions, { limit: 100, inFlight: 1, documents })),
  ]);
  const shares: string[][] = [];
  for (const candidates of [200, 400, 800]) {
    const connections = connectTo(server.url, {
      settings: {
        plan_cache_mode: 'force_custom_plan',
        'hnsw.ef_search': `${candidates}`,
        'hnsw.iterative_scan': 'relaxed_order',
      },
    });
    const graph = searchWith(createGraphEngine(() => connections));
    await run(`pgvector, ef_search ${candidates}`, graph);
    if (candidates === 200) {
      rows.push([
        'pgvector, 100 of 500 documents',
        ...(await measure(graph, questions, { limit: 100, inFlight: 1, documents })),
      ]);
      rows.push([
        'pgvector, 2,000 of all, exactly',
        ...(await measure(graph, questions.slice(0, 20), { limit: 2000, inFlight: 1 })),
      ]);
    }
    shares.push([`${candidates}`, ...(await recalls(exact, graph, questions))]);
    await connections.end();
  }
  printTable(`Searches of ${whole(passages)} passages, ms`, ['', 'p50', 'p95'], rows);
  printTable(
    'What pgvector has found of the nearest',
    ['ef_search', ...LIMITS.map((limit) => `${limit}`)],
    shares,
  );
  scanner.end();
  for (const job of compute.jobs) await job.stop();
}

async function measure(
  search: SearchVectors,
  questions: readonly string[],
  { limit, inFlight, documents }: { limit: number; inFlight: number; documents?: ReadonlySet<string> },
): Promise<string[]> {
  const times: number[] = [];
  const waiting = [...questions];
  const worker = async (): Promise<void> => {
    for (let query = waiting.pop(); query !== undefined; query = waiting.pop()) {
      const begun = performance.now();
      await search({ workspaceId: WORKSPACE, query, limit, ...(documents && { documents }) });
      times.push(performance.now() - begun);
    }
  };
  await search({ workspaceId: WORKSPACE, query: 'first', limit });
  await Promise.all(Array.from({ length: inFlight }, worker));
  times.sort((a, b) => a - b);
  return [0.5, 0.95].map((share) => milliseconds(times[Math.floor(times.length * share)] ?? Infinity));
}

async function recalls(exact: SearchVectors, graph: SearchVectors, questions: readonly string[]) {
  const shares: string[] = [];
  for (const limit of LIMITS) {
    let [common, all] = [0, 0];
    for (const query of questions) {
      const [one, other] = await Promise.all(
        [exact, graph].map((search) =>
          search({ workspaceId: WORKSPACE, query, limit: Math.max(100, limit) }),
        ),
      );
      const ids = new Set(other?.found.slice(0, limit).map(({ passageId }) => passageId));
      const nearest = one?.found.slice(0, limit) ?? [];
      common += nearest.filter(({ passageId }) => ids.has(passageId)).length;
      all += nearest.length;
    }
    shares.push((common / all).toFixed(3));
  }
  return shares;
}

async function fill(
  sql: Sql,
  passages: number,
  texts: readonly string[],
  embed: (texts: string[]) => Promise<Float32Array>,
): Promise<void> {
  for (const [table, constraint] of [
    ['document_contents', 'document_contents_document_id_fkey'],
    ['document_vectors', 'document_vectors_document_id_fkey'],
  ])
    await sql.unsafe(`ALTER TABLE ${table} DROP CONSTRAINT ${constraint}`);
  const documents = Math.ceil(passages / PASSAGES_A_DOCUMENT);
  await sql`INSERT INTO document_vector_models (name, dimensions) VALUES (${MODEL}, ${DIMENSIONS})`;
  await sql`INSERT INTO document_vector_workspaces SELECT ${WORKSPACE}, id FROM document_vector_models`;
  await sql`INSERT INTO document_feeds (workspace_id, last_sequence) VALUES (${WORKSPACE}, ${documents})`;
  await sql`
    INSERT INTO document_contents (document_id, workspace_id, state, passages)
    SELECT gen_random_uuid(), ${WORKSPACE}, 'ready', ${PASSAGES_A_DOCUMENT} FROM generate_series(1, ${documents}::integer)`;
  await sql`
    INSERT INTO document_embeddings (document_id, model_id, workspace_id, revision, passages, sequence)
    SELECT document_id, m.id, workspace_id, 1, passages, row_number() OVER ()
    FROM document_contents, document_vector_models m`;
  const base: Float32Array[] = [];
  for (const some of inPartsOf(64, texts.slice(0, passages))) {
    const made = await embed(some);
    for (let at = 0; at < some.length; at++) base.push(made.slice(at * DIMENSIONS, (at + 1) * DIMENSIONS));
  }
  for (let from = 0; from < passages; from += ROWS_AT_ONCE) {
    const vectors = Array.from({ length: Math.min(ROWS_AT_ONCE, passages - from) }, (_, at) =>
      quantise(vectorAt(base, from + at)).toString('hex'),
    );
    await sql`
      INSERT INTO document_vectors (document_id, model_id, passage_id, text_hash, vector)
      SELECT e.document_id, e.model_id, ${from}::integer + place, ''::bytea, decode(vector, 'hex')
      FROM unnest(${vectors}::text[]) WITH ORDINALITY AS rows (vector, place)
      JOIN document_embeddings e ON e.sequence = (${from}::integer + place - 1) / ${PASSAGES_A_DOCUMENT}::integer + 1`;
  }
  await sql`VACUUM ANALYZE`;
}

function vectorAt(base: readonly Float32Array[], number: number): Float32Array {
  const one = base[number % base.length] as Float32Array;
  const round = Math.floor(number / base.length);
  if (round === 0) return one;
  const other = base[(number * 7919 + round * 104_729) % base.length] as Float32Array;
  return one.map((value, index) => value + 0.7 * (other[index] ?? 0));
}

const madeUp = (): string[] => Array.from({ length: EMBEDDED }, (_, number) => passageAt(number).join(' '));

/** Each once, those of 200 to 3,000 characters. */
async function paragraphsOf(folders: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const folder of folders)
    for (const path of new Bun.Glob('**/*.{md,txt,rst}').scanSync({ cwd: folder, absolute: true }))
      for (const part of (await Bun.file(path).text()).split(/\n\s*\n/))
        if (part.length >= 200 && part.length <= 3000) found.add(part);
  return [...found];
}

/** Eight words from the middle of a text. */
function wordsOf(text: string): string {
  const words = text.split(/\s+/);
  const from = Math.max(0, Math.floor(words.length / 2) - 4);
  return words.slice(from, from + 8).join(' ');
}

function* inPartsOf<Value>(size: number, values: readonly Value[]): Generator<Value[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
}
