// The searches of every day with a Meilisearch beside the same without: two services on one database, of which one has it as a mirror. Needs
// MEILI_BINARY.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownSearchServer } from '../../test/documents/search/mirror-setting.ts';
import { eventually, startChild } from '../../test/support/child.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { TAGS } from '../search/corpus.ts';
import { keyOf } from '../search/load.ts';
import { LANGUAGES } from '../search/vocabulary.ts';
import { IN_FLIGHT } from './operations.ts';
import { type Asked, ask, inTurn, type Pace, type Price, sumOf, totals } from './searches.ts';
import { SHAPES } from './shapes.ts';
import { HERE, listening, startSide } from './side.ts';
import { fillWorkspace, workspaceOf } from './workspace.ts';

/** What two measurements of the same differ by. */
const NOISE = 1.1;
const FILL_TIMEOUT_MS = 1_800_000;
const SAMPLES = 20;

const [tag, other, word, next] = [TAGS[0], TAGS[1], LANGUAGES.en[0], LANGUAGES.en[3]];

/** Those of every day, and what a search server is said to be good at. */
const MIRRORED: readonly { name: string; query: string; reader?: true }[] = [
  ...SHAPES,
  { name: 'q: two words', query: `q=${word}%20${next}` },
  { name: 'q: a word and a tag', query: `q=${word}&tags=any:${tag}` },
  { name: 'many facets', query: `tags=any:${tag},${other}&file_type=in:pdf,docx&slots=eq:department->legal` },
  { name: 'many facets, as the reader', query: `tags=any:${tag}&file_type=in:pdf,docx`, reader: true },
];

export async function measureMirrored(options: Pace & { documents: readonly number[] }): Promise<void> {
  for (const documents of options.documents) {
    printTable(
      `${whole(documents)} documents: processor time in µs, service + Postgres (+ Meilisearch), ${IN_FLIGHT} in flight; ms of one alone; medians of ${options.rounds} rounds`,
      ['search', 'found', 'without', 'with', 'ratio', 'alone, ms', 'by Meilisearch', 'target'],
      await rowsOf(documents, options),
    );
  }
}

async function rowsOf(documents: number, pace: Pace): Promise<string[][]> {
  const workspace = workspaceOf(documents);
  await using side = await startSide(HERE);
  await fillWorkspace(side.databaseUrl, workspace);
  await using own = ownSearchServer(process.env['MEILI_BINARY'] ?? '');
  await using mirrored = await startMirrored(side.databaseUrl, own.server);
  const rows: string[][] = [];
  for (const shape of MIRRORED) {
    if (!pace.only.test(shape.name)) continue;
    const key = keyOf(workspace, shape.reader ? 'reader' : 'admin');
    const path = `/v1/filter/${workspace.id}?${shape.query}`;
    const sides: Record<'without' | 'with', Asked> = {
      without: { url: `${side.url}${path}`, key, pid: side.pid },
      with: { url: `${mirrored.url}${path}`, key, pid: mirrored.pid, searchServer: own.pid() },
    };
    const found = await totals(shape, [sides.without, sides.with], shape.query.startsWith('q=') ? 0.01 : 0);
    const prices = await inTurn(sides, side.dataDir, pace);
    const ratio = sumOf(prices.with) / sumOf(prices.without);
    rows.push([
      shape.name,
      whole(found),
      said(prices.without),
      `${said(prices.with)} + ${whole(prices.with.searchServer)}`,
      `${ratio.toFixed(2)} ×`,
      `${milliseconds(prices.without.ms)}, ${milliseconds(prices.with.ms)}`,
      `${whole(100 * (await shareOf(sides.with)))} %`,
      `≤ 1: ${ratio <= NOISE ? 'met' : '**missed**'}`,
    ]);
  }
  return rows;
}

const said = ({ answering, postgres }: Price): string => `${whole(answering)} + ${whole(postgres)}`;

/** The part of searches that the search server answers. */
async function shareOf(asked: Asked): Promise<number> {
  let mirrored = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const answer = await ask(asked);
    await answer.arrayBuffer();
    if (answer.headers.get('atrium-search-engine') === 'meilisearch') mirrored += 1;
  }
  return mirrored / SAMPLES;
}

/** Another service on the database, once its mirror has everything. */
async function startMirrored(databaseUrl: string, server: { url: string; apiKey: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-mirrored-'));
  const child = startChild([process.execPath, join(HERE, 'src/main.ts')], {
    directory: HERE,
    environment: {
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      LOG_FORMAT: 'json',
      CONTENT: 'off',
      MEILI_URL: server.url,
      MEILI_API_KEY: server.apiKey,
    },
  });
  const url = await listening(child);
  const filled = async (): Promise<boolean> => {
    const answer = await fetch(`${url}/readyz`);
    const { services } = (await answer.json()) as {
      services: Record<string, { state: string; waiting: number }>;
    };
    return services['search']?.state === 'ready' && services['search'].waiting === 0;
  };
  await eventually('the mirror to have everything', filled, FILL_TIMEOUT_MS);
  return {
    url,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
