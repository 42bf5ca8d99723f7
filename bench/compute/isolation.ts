// Who notices that the threads are busy: latency of `GET /` and the event loop, idle, beside fib(45) without pause, and beside the same
// in C, which shows what of it is the machine's;
// what a short computation costs; how soon an abandoned one has ended.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/support/child.ts';
import { type Load, runK6 } from '../lib/k6.ts';
import { occupy } from '../lib/occupy.ts';
import { processorMicros } from '../lib/process.ts';
import { milliseconds, printTable } from '../lib/report.ts';
import { compileC } from './kernels.ts';
import { computeLoad, startSetting } from './service.ts';
import { median, quantile } from './statistics.ts';

const RATE = '500';
const DURATION = '6s';
const ROUNDS = 5;

const load = (url: string): Promise<Load> =>
  runK6(join(import.meta.dir, 'get.js'), { URL: url, RATE, DURATION });

/** What takes the processors: nothing, our own threads, or the same in C, as nice, in processes of its own. */
const SIDES = ['idle', 'our threads', 'C'] as const;
type SideName = (typeof SIDES)[number];

type Round = { load: Load; loopMs: number };

async function measureBusy(threads: number, binary: string): Promise<void> {
  await using setting = await startSetting(threads);
  const url = `${setting.service.url}/`;
  const besides: Record<SideName, () => Promise<AsyncDisposable | undefined>> = {
    idle: async () => undefined,
    'our threads': () => setting.occupy(threads),
    // The same recursion, compiled; it would take half an hour to its end.
    C: async () => occupy([binary, '60'], { count: threads, niceness: setting.niceness() }),
  };
  await load(url);
  // Opens the threads.
  await (await setting.occupy(threads))[Symbol.asyncDispose]();
  const rounds: Record<SideName, Round[]> = { idle: [], 'our threads': [], C: [] };
  for (let round = 0; round < ROUNDS; round++)
    for (let turn = 0; turn < SIDES.length; turn++) {
      const side = SIDES[(round + turn) % SIDES.length] as SideName;
      await using _ = await besides[side]();
      await setting.loopDelays();
      const loaded = await load(url);
      rounds[side].push({ load: loaded, loopMs: quantile(await setting.loopDelays(), 0.99) });
    }
  const p99 = (side: SideName, round: number): number => rounds[side][round]?.load.p99Ms ?? Number.NaN;
  const ratio = (one: SideName, other: SideName): number =>
    median(rounds[one].map((_, round) => p99(one, round) / p99(other, round)));
  const loopMs = median(rounds['our threads'].map((round) => round.loopMs));
  const verdicts: Record<SideName, string> = {
    idle: '',
    'our threads': `p99 ≤ 1.5 ×: ${ratio('our threads', 'idle') <= 1.5 ? 'met' : '**missed**'}; loop ≤ 5 ms: ${loopMs <= 5 ? 'met' : '**missed**'}`,
    C: `ours is ${ratio('our threads', 'C').toFixed(2)} × of it`,
  };
  printTable(
    `\`GET /\` at ${RATE} requests/s beside ${threads} × fib(45), ${navigator.hardwareConcurrency} cores, medians of ${ROUNDS} rounds, niceness ${setting.niceness()}`,
    ['beside', 'p50 ms', 'p99 ms', 'of idle', 'event loop p99 ms', ''],
    SIDES.map((side) => [
      side,
      median(rounds[side].map((round) => round.load.p50Ms)).toFixed(2),
      median(rounds[side].map((round) => round.load.p99Ms)).toFixed(2),
      side === 'idle' ? '' : `${ratio(side, 'idle').toFixed(2)} ×`,
      median(rounds[side].map((round) => round.loopMs)).toFixed(2),
      verdicts[side],
    ]),
  );
}

export async function measureShort(): Promise<void> {
  await using setting = await startSetting(1);
  const { url } = setting.service;
  const rounds: { root: Load; short: Load }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = { root: await load(`${url}/`), short: await load(`${url}/compute?n=1`) };
    if (round > 0) rounds.push(pair);
  }
  const ratio = median(rounds.map(({ root, short }) => short.p50Ms / root.p50Ms));
  printTable(
    `A short computation at ${RATE} requests/s, medians of ${ROUNDS} rounds`,
    ['', 'p50 ms', 'of GET /', 'target'],
    [
      ['GET /', median(rounds.map(({ root }) => root.p50Ms)).toFixed(3), '', ''],
      [
        'GET /compute?n=1',
        median(rounds.map(({ short }) => short.p50Ms)).toFixed(3),
        `${ratio.toFixed(2)} ×`,
        `≤ 2 ×: ${ratio <= 2 ? 'met' : '**missed**'}`,
      ],
    ],
  );
}

export async function measureLeaving(): Promise<void> {
  await using setting = await startSetting(1);
  const { url, child } = setting.service;
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const leaving = new AbortController();
    const asked = fetch(`${url}/compute?n=50`, { signal: leaving.signal }).catch(() => undefined);
    await eventually('it to run', async () => (await computeLoad(url)).running === 1);
    leaving.abort();
    const leftAt = performance.now();
    await asked;
    // A long one that is answered has found the thread free.
    await (await fetch(`${url}/compute?n=31`)).text();
    times.push(performance.now() - leftAt);
  }
  const used = processorMicros(child.pid);
  await Bun.sleep(3000);
  const share = (processorMicros(child.pid) - used) / 3_000_000;
  const worst = Math.max(...times);
  printTable(
    'fib(50) whose client leaves, 20 times: until the next long one, n = 31, has been answered by the same thread',
    ['median ms', 'longest ms', 'processor afterwards', 'target'],
    [
      [
        milliseconds(median(times)),
        milliseconds(worst),
        `${(share * 100).toFixed(1)} %`,
        `≤ 50 ms: ${worst <= 50 ? 'met' : '**missed**'}`,
      ],
    ],
  );
}

export async function measureIsolation(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-isolation-'));
  try {
    const binary = compileC(folder);
    for (let threads = 1; threads <= 2; threads++) await measureBusy(threads, binary);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
