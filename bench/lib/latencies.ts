// What work in the background costs other requests: the times of a request at a fixed rate, idle, beside it, and beside
// busy loops of its niceness on every processor, which show what of it is the machine's.

import { availableParallelism } from 'node:os';
import { occupy } from './occupy.ts';
import { waitedMicros } from './process.ts';
import { milliseconds, multiple, printTable, verdict, whole } from './report.ts';

const REQUESTS_A_SECOND = 200;
const IDLE_SECONDS = 6;
const BUSY_LOOP = ['sh', '-c', 'while :; do :; done'];

/** Times of GET at a fixed rate, in milliseconds, until `ended`. */
async function latencies(url: string, ended: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const open: Promise<void>[] = [];
  const begun = performance.now();
  for (let request = 0; !ended(); request++) {
    const due = begun + (request * 1000) / REQUESTS_A_SECOND;
    if (due > performance.now()) await Bun.sleep(due - performance.now());
    // A request that waits for its turn in this process has begun, and a timer may be early.
    const from = Math.min(due, performance.now());
    const ask = async (): Promise<void> => {
      await (await fetch(url)).arrayBuffer();
      times.push(performance.now() - from);
    };
    open.push(ask());
  }
  await Promise.all(open);
  return times.sort((one, other) => one - other);
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const median = (values: readonly number[]): number =>
  quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );

/**
 * Rounds without and with the work, and with busy loops in its place, take turns, so that whatever else the machine does falls on all of
 * them. `prepare` asks for the work of a round, by requests that are not to be measured; `work` resolves, when it is done, to how much of
 * it a second was done.
 */
export async function measureBeside({
  url,
  pid,
  what,
  rounds,
  niceness,
  most = 1.5,
  prepare,
  work,
}: {
  url: string;
  /** The process that answers. */
  pid: number;
  what: string;
  rounds: number;
  /** Of the threads or processes that do the work, which the busy loops have, too. */
  niceness: number;
  /** What the p99 may be, in those of idle rounds. */
  most?: number;
  prepare?(round: number): Promise<unknown>;
  work(round: number): Promise<string>;
}): Promise<void> {
  const rows: string[][] = [];
  const ratios: Record<'p50' | 'p99' | 'loops', number[]> = { p50: [], p99: [], loops: [] };
  /** Times, and how long of each second the main thread waited for a processor. */
  const measure = async (ended: () => boolean) => {
    const [begun, waited] = [performance.now(), waitedMicros(pid)];
    const times = await latencies(url, ended);
    const seconds = (performance.now() - begun) / 1000;
    return {
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      waitedMs: (waitedMicros(pid) - waited) / 1000 / seconds,
    };
  };
  const measureFor = (seconds: number) => {
    const until = performance.now() + seconds * 1000;
    return measure(() => performance.now() > until);
  };
  for (let round = 0; round < rounds; round++) {
    const idle = await measureFor(IDLE_SECONDS);
    let done = false;
    await prepare?.(round);
    const working = work(round).finally(() => {
      done = true;
    });
    const busy = await measure(() => done);
    const amount = await working;
    await using _ = occupy(BUSY_LOOP, { count: availableParallelism(), niceness });
    const loops = await measureFor(IDLE_SECONDS);
    ratios.p50.push(busy.p50 / idle.p50);
    ratios.p99.push(busy.p99 / idle.p99);
    ratios.loops.push(loops.p99 / idle.p99);
    rows.push([
      String(round + 1),
      ...[idle, busy, loops].map(
        ({ p50, p99, waitedMs }) => `${milliseconds(p50)}, ${milliseconds(p99)}; ${whole(waitedMs)}`,
      ),
      multiple(busy.p99 / idle.p99),
      multiple(loops.p99 / idle.p99),
      amount,
    ]);
  }
  printTable(
    `GET ${new URL(url).pathname} at ${REQUESTS_A_SECOND} requests a second: idle, beside ${what}, and beside busy loops of niceness ${niceness} (p50, p99 in ms; how many ms of a second the main thread waits for a processor)`,
    ['round', 'idle', 'beside', 'beside loops', 'p99', 'p99 beside loops', 'done'],
    rows,
  );
  console.log(
    `\nmedian of the rounds: p50 ${multiple(median(ratios.p50))}, p99 ${multiple(median(ratios.p99))} (${verdict([median(ratios.p99)], most)}), beside loops ${multiple(median(ratios.loops))}`,
  );
}
