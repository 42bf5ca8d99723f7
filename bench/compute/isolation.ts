// Who notices that the threads are busy: latency of `GET /` and the event loop, idle and beside fib(45) without pause;
// what a short computation costs; how soon an abandoned one has ended.

import { join } from 'node:path';
import { eventually } from '../../test/support/child.ts';
import { type Load, runK6 } from '../lib/k6.ts';
import { processorMicros } from '../lib/process.ts';
import { milliseconds, printTable } from '../lib/report.ts';
import { computeLoad, type Setting, startSetting } from './service.ts';
import { median, quantile } from './statistics.ts';

const RATE = '500';
const DURATION = '6s';
const ROUNDS = 5;

const load = (url: string): Promise<Load> =>
  runK6(join(import.meta.dir, 'get.js'), { URL: url, RATE, DURATION });

type Round = { idle: Load; busy: Load; idleDelay: number; busyDelay: number };

async function measureRound(setting: Setting, threads: number): Promise<Round> {
  const url = `${setting.service.url}/`;
  await setting.loopDelays();
  const idle = await load(url);
  const idleDelay = quantile(await setting.loopDelays(), 0.99);
  await using _ = await setting.occupy(threads);
  await setting.loopDelays();
  const busy = await load(url);
  return { idle, busy, idleDelay, busyDelay: quantile(await setting.loopDelays(), 0.99) };
}

async function measureBusy(threads: number): Promise<void> {
  await using setting = await startSetting(threads);
  await load(`${setting.service.url}/`);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(setting, threads));
  const ratio = median(rounds.map(({ idle, busy }) => busy.p99Ms / idle.p99Ms));
  const delay = median(rounds.map(({ busyDelay }) => busyDelay));
  const row = (name: string, loads: readonly Load[], loopMs: number, of: string, target: string) => [
    name,
    milliseconds(median(loads.map(({ p50Ms }) => p50Ms))),
    median(loads.map(({ p99Ms }) => p99Ms)).toFixed(2),
    of,
    loopMs.toFixed(2),
    target,
  ];
  const busy = rounds.map((round) => round.busy);
  const judged = `p99 ≤ 1.5 ×: ${ratio <= 1.5 ? 'met' : '**missed**'}; loop ≤ 5 ms: ${delay <= 5 ? 'met' : '**missed**'}`;
  printTable(
    `\`GET /\` at ${RATE} requests/s beside ${threads} × fib(45), ${navigator.hardwareConcurrency} cores, medians of ${ROUNDS} rounds`,
    ['threads', 'p50 ms', 'p99 ms', 'of idle', 'event loop p99 ms', 'target'],
    [
      row(
        'idle',
        rounds.map(({ idle }) => idle),
        median(rounds.map(({ idleDelay }) => idleDelay)),
        '',
        '',
      ),
      row('busy', busy, delay, `${ratio.toFixed(2)} ×`, judged),
    ],
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
  for (let threads = 1; threads <= 2; threads++) await measureBusy(threads);
}
