// The kernels in their threads: Fibonacci beside C, one thread beside two, embeddings a second and core.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCompute } from '../../src/compute/index.ts';
import { normaliseText } from '../../src/compute/normalise.ts';
import { loadModule } from '../../src/infra/wasm/module.ts';
import { createPool, type Pool } from '../../src/infra/wasm/pool.ts';
import { createCorpus } from '../../test/compute/corpus/index.ts';
import { silentLog } from '../../test/support/database.ts';
import { processorMicros } from '../lib/process.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { median } from './statistics.ts';

const KERNELS = join(import.meta.dir, '../../build/kernels.wasm');
const ROUNDS = 9;
const IN_FLIGHT = 16;
const JOBS = 1000;
const BATCH = 256;

const never = new AbortController().signal;

async function startPool(threads: number): Promise<Pool> {
  const pool = createPool({
    name: 'bench',
    entry: new URL('../../src/compute/thread.ts', import.meta.url),
    loadModule: () => loadModule(KERNELS),
    threads,
    waitingMax: 100_000,
    log: silentLog,
  });
  await pool.job.start();
  return pool;
}

const fibonacci = async (pool: Pool, n: number): Promise<number> => {
  const limits = { waitMsMax: 60_000, runMsMax: 60_000 };
  const lane = n <= 30 ? 'short' : 'long';
  const [result] = await pool.run({
    kind: 'fibonacci',
    lane,
    parts: [n],
    name: 'bench',
    ...limits,
    signal: never,
  });
  return result?.ms ?? Number.NaN;
};

/** The floor as a program in that folder; its argument is n. */
export function compileC(folder: string): string {
  const binary = join(folder, 'fibonacci');
  const source = join(import.meta.dir, 'fibonacci.c');
  if (Bun.spawnSync(['gcc', '-O2', source, '-o', binary]).exitCode !== 0) throw new Error('gcc failed');
  return binary;
}

/** Processor milliseconds of fib(42), in C and by the kernel in its thread, in rounds that take turns. */
export async function compareWithC(rounds: number): Promise<{ c: number; kernel: number }[]> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-c-'));
  const binary = compileC(folder);
  const pool = await startPool(1);
  const times: { c: number; kernel: number }[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const { resourceUsage } = Bun.spawnSync([binary, '42']);
    const before = processorMicros(process.pid);
    await fibonacci(pool, 42);
    const kernel = (processorMicros(process.pid) - before) / 1000;
    if (round > 0) times.push({ c: Number(resourceUsage.cpuTime.total) / 1000, kernel });
  }
  await pool.job.stop();
  rmSync(folder, { recursive: true });
  return times;
}

async function measureAgainstC(): Promise<void> {
  const times = await compareWithC(ROUNDS);
  const ratio = median(times.map(({ c, kernel }) => kernel / c));
  printTable(
    `fib(42), medians of ${ROUNDS} runs that take turns`,
    ['', 'processor ms', 'of C', 'target'],
    [
      ['C, gcc -O2', milliseconds(median(times.map(({ c }) => c))), '', ''],
      [
        'the kernel in its thread',
        milliseconds(median(times.map(({ kernel }) => kernel))),
        `${ratio.toFixed(2)} ×`,
        `≤ 1.15 ×: ${ratio <= 1.15 ? 'met' : '**missed**'}`,
      ],
    ],
  );
}

/** Computations of n = 30 a second. */
async function throughput(pool: Pool): Promise<number> {
  const startedAt = performance.now();
  let begun = 0;
  const keep = async (): Promise<void> => {
    while (begun++ < JOBS) await fibonacci(pool, 30);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, keep));
  return (JOBS / (performance.now() - startedAt)) * 1000;
}

async function measureScaling(): Promise<void> {
  const [one, two] = [await startPool(1), await startPool(2)];
  const rates: { one: number; two: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const rate = { one: await throughput(one), two: await throughput(two) };
    if (round > 0) rates.push(rate);
  }
  await Promise.all([one.job.stop(), two.job.stop()]);
  const growth = median(rates.map((rate) => rate.two / rate.one));
  printTable(
    `n = 30, ${IN_FLIGHT} in flight, medians of ${ROUNDS} rounds of ${whole(JOBS)} that take turns`,
    ['threads', 'a second', 'growth', 'target'],
    [
      ['1', whole(median(rates.map(({ one: rate }) => rate))), '', ''],
      [
        '2',
        whole(median(rates.map(({ two: rate }) => rate))),
        `${growth.toFixed(2)} ×`,
        `≥ 1.8 ×: ${growth >= 1.8 ? 'met' : '**missed**'}`,
      ],
    ],
  );
}

/** The corpus over and over, so that every language counts. */
export function createBatch(): string[] {
  const { documents } = createCorpus();
  return Array.from({ length: BATCH }, (_, index) => documents[(index * 37) % documents.length] ?? '');
}

/** Texts a second, of the kernel alone, in this thread. */
async function kernelRate(texts: readonly string[]): Promise<number> {
  const instance = new WebAssembly.Instance(await loadModule(KERNELS), { host: { checkpoint() {} } });
  const { memory, embed, input, feed, finish, INPUT_BYTES } = instance.exports as {
    memory: WebAssembly.Memory;
    embed(): void;
    input(): number;
    feed(bytes: number): void;
    finish(): void;
    INPUT_BYTES: WebAssembly.Global;
  };
  const bytes = new Uint8Array(memory.buffer, input(), INPUT_BYTES.value as number);
  const encoded = texts.map((text) => new TextEncoder().encode(normaliseText(text)));
  const rates: number[] = [];
  for (let round = 0; round < 20; round++) {
    const startedAt = performance.now();
    for (let turn = 0; turn < 20; turn++) {
      for (const text of encoded) {
        embed();
        bytes.set(text);
        feed(text.length);
        finish();
      }
    }
    rates.push((20_000 * texts.length) / (performance.now() - startedAt));
  }
  return median(rates.slice(5));
}

/** The same through the area: to the thread, normalised, embedded, and back. */
async function areaRate(texts: readonly string[], threads: number): Promise<number> {
  const { embed, jobs } = createCompute({
    settings: { threads, queueMax: 1024 },
    onInterrupt: () => () => undefined,
    log: silentLog,
  });
  for (const job of jobs) await job.start();
  const rates: number[] = [];
  for (let round = 0; round < 20; round++) {
    const startedAt = performance.now();
    for (let turn = 0; turn < 5; turn++)
      await Promise.all(Array.from({ length: 4 }, () => embed(texts, never)));
    rates.push((20_000 * texts.length) / (performance.now() - startedAt));
  }
  for (const job of jobs) await job.stop();
  return median(rates.slice(5));
}

async function measureEmbedding(): Promise<void> {
  const texts = createBatch();
  const characters = texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  const rates = {
    'the kernel alone, one core': await kernelRate(texts),
    'through the pool, 1 thread': await areaRate(texts, 1),
    'through the pool, 2 threads': await areaRate(texts, 2),
  };
  const rows = Object.entries(rates).map(([name, rate], index) => [
    name,
    whole(rate),
    index === 2 ? '' : `≥ 20,000: ${rate >= 20_000 ? 'met' : '**missed**'}`,
  ]);
  printTable(
    `Texts of ${whole(characters)} characters, 8 languages, in lists of ${BATCH}`,
    ['', 'texts a second', 'target'],
    rows,
  );
}

export async function measureKernels(): Promise<void> {
  await measureAgainstC();
  await measureScaling();
  await measureEmbedding();
}
