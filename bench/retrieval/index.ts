// A retrieval over a million passages of one workspace, over HTTP: words, vectors and rights together. `--keep` measures on the passages
// that other sources of the bench have made, as long as they are as many, and the schema is the same.

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually } from '../../test/support/child.ts';
import { postgresMicros, processMicros } from '../lib/process.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { workspacesOf } from '../search/corpus.ts';
import { keyOf } from '../search/load.ts';
import { startServer } from '../search/server.ts';
import { ensurePassages, PASSAGES_A_DOCUMENT } from './load.ts';
import { commonQuestionAt, questionAt } from './text.ts';

const OPTIONS = {
  passages: { type: 'string', default: '1000000' },
  data: { type: 'string', default: join(import.meta.dir, '../.data-retrieval') },
  questions: { type: 'string', default: '200' },
  rounds: { type: 'string', default: '3' },
  modes: { type: 'string', default: 'words,vectors,hybrid' },
  keep: { type: 'boolean', default: false },
} as const;

const TARGETS = [
  { inFlight: 1, target: 60 },
  { inFlight: 8, target: 250 },
];
const LOADED_WITHIN_MS = 300_000;
const VECTORS_BYTES_MAX = '4294967296';

type Ask = (query: string, mode: string) => Promise<{ engine: string; passages: unknown[] }>;

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const passages = Number(values.passages);
  const documents = Math.ceil(passages / PASSAGES_A_DOCUMENT);
  const [workspace] = workspacesOf({ documents, others: 0, small: 0 });
  if (workspace === undefined) throw new Error('no workspace');
  const folder = resolve(values.data);
  console.log(`${whole(passages)} passages in ${folder}`);
  await ensurePassages(folder, workspace, { keep: values.keep });
  const server = await startServer(folder, workspace, { VECTORS_MEMORY_BYTES_MAX: VECTORS_BYTES_MAX });
  try {
    const ask: Ask = async (query, mode) => {
      const response = await fetch(`${server.url}/v1/${workspace.id}/retrieve`, {
        method: 'POST',
        headers: { APIKeyHeader: keyOf(workspace, 'reader'), 'content-type': 'application/json' },
        body: JSON.stringify({ query, mode }),
      });
      if (response.status !== 200)
        throw new Error(`a retrieval answers ${response.status}: ${await response.text()}`);
      return (await response.json()) as Awaited<ReturnType<Ask>>;
    };
    await eventually(
      'the vectors to be in memory',
      async () => !(await ask('vectors', 'vectors')).engine.startsWith('postgres') || undefined,
      LOADED_WITHIN_MS,
    );
    const usage = (): Used => ({
      service: processMicros(server.child.pid),
      postgres: postgresMicros(folder),
    });
    const options = { questions: Number(values.questions), rounds: Number(values.rounds), usage };
    const rows: string[][] = [];
    for (const [kind, questionOf] of [
      ['six words of a passage', (number: number) => questionAt(number, passages)],
      ['six common words', commonQuestionAt],
    ] as const)
      for (const mode of values.modes.split(','))
        for (const each of TARGETS)
          rows.push([kind, mode, ...(await measure(ask, { ...options, ...each, mode, questionOf }))]);
    printTable(
      `Retrieval over ${whole(passages)} passages, ms, the best of ${options.rounds} rounds of ${options.questions} questions, and the processor's ms a question`,
      ['questions', 'mode', 'in flight', 'p50', 'p95', 'target', 'service', 'Postgres'],
      rows,
    );
  } finally {
    await server.child.stop();
  }
}

/** Microseconds of the processor. */
type Used = { service: number; postgres: number };

type Measured = {
  usage(): Used;
  questions: number;
  rounds: number;
  inFlight: number;
  target: number;
  mode: string;
  questionOf(number: number): string;
};

/** Each question of a round is another one; the first round warms up the memory. */
async function measure(ask: Ask, options: Measured): Promise<string[]> {
  const { questions, inFlight, target, mode } = options;
  let best = { p50: Infinity, p95: Infinity, used: ['', ''] };
  for (let round = 0; round <= options.rounds; round++) {
    const times: number[] = [];
    const before = options.usage();
    let next = round * questions;
    const worker = async (): Promise<void> => {
      while (next < (round + 1) * questions) {
        const query = options.questionOf(next++);
        const startedAt = performance.now();
        const { engine, passages } = await ask(query, mode);
        times.push(performance.now() - startedAt);
        if (engine.includes('not available') || passages.length < 10)
          throw new Error(`${passages.length} passages, by ${engine}: ${query}`);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? Infinity;
    const after = options.usage();
    const used = [after.service - before.service, after.postgres - before.postgres].map((micros) =>
      milliseconds(micros / 1000 / questions),
    );
    if (round > 0 && at(0.95) < best.p95) best = { p50: at(0.5), p95: at(0.95), used };
  }
  const verdict = best.p95 <= target ? 'met' : '**missed**';
  const cells = [String(inFlight), milliseconds(best.p50), milliseconds(best.p95)];
  console.log(mode, ...cells, ...best.used);
  return [...cells, `≤ ${target} ms: ${verdict}`, ...best.used];
}
