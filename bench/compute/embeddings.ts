// Lists of 256 texts over the workspace's embeddings route, and what they cost the service in processor time.

import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../../test/support/service.ts';
import { processorMicros } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import { createBatch } from './kernels.ts';
import { median } from './statistics.ts';

const ROUNDS = 5;
const ROUND_MS = 3000;
const IN_FLIGHT = 4;

const headers = { authorization: `Bearer ${BOOTSTRAP_KEY}`, 'content-type': 'application/json' };

type Rate = { perSecond: number; perCore: number };

async function measureRound(url: string, pid: number, format: string): Promise<Rate> {
  const input = createBatch();
  const body = JSON.stringify({ input, encoding_format: format });
  const used = processorMicros(pid);
  const startedAt = performance.now();
  let texts = 0;
  const keep = async (): Promise<void> => {
    while (performance.now() - startedAt < ROUND_MS) {
      const answer = await fetch(url, { method: 'POST', headers, body });
      if (answer.status !== 200) throw new Error(await answer.text());
      await answer.arrayBuffer();
      texts += input.length;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, keep));
  const seconds = (performance.now() - startedAt) / 1000;
  return { perSecond: texts / seconds, perCore: texts / ((processorMicros(pid) - used) / 1_000_000) };
}

export async function measureEmbeddings(): Promise<void> {
  await using service = await startService({ environment: { COMPUTE_THREADS: '2' }, postgres: 'embedded' });
  const url = `${service.url}/${WORKSPACE}/v1/embeddings`;
  const rates = new Map<string, Rate[]>([
    ['base64', []],
    ['float', []],
  ]);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [format, measured] of rates) {
      const rate = await measureRound(url, service.child.pid, format);
      if (round > 0) measured.push(rate);
    }
  }
  const rows = [...rates].map(([format, measured]) => {
    const perCore = median(measured.map((rate) => rate.perCore));
    const perSecond = median(measured.map((rate) => rate.perSecond));
    return [
      format,
      whole(perSecond),
      whole(perCore),
      `≥ 12,000: ${perCore >= 12_000 ? 'met' : '**missed**'}`,
    ];
  });
  printTable(
    `Embeddings over HTTP, lists of 256, ${IN_FLIGHT} in flight, 2 threads, medians of ${ROUNDS} rounds`,
    ['format', 'texts a second', 'texts a second of processor time', 'target'],
    rows,
  );
}
