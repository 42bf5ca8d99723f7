// What work in the background costs other requests: the times of a request at a fixed rate, idle and beside it.

import { milliseconds, multiple, printTable, verdict } from './report.ts';

const REQUESTS_A_SECOND = 200;
const IDLE_SECONDS = 6;

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
 * Rounds without and with the work take turns, so that whatever else the machine does falls on both. `prepare` asks for the work of a
 * round, by requests that are not to be measured; `work` resolves, when it is done, to how much of it a second was done.
 */
export async function measureBeside(
  url: string,
  {
    what,
    rounds,
    most = 1.5,
    prepare,
    work,
  }: {
    what: string;
    rounds: number;
    /** What the p99 may be, in those of idle rounds. */
    most?: number;
    prepare?(round: number): Promise<unknown>;
    work(round: number): Promise<string>;
  },
): Promise<void> {
  const rows: string[][] = [];
  const [p50s, p99s]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const until = performance.now() + IDLE_SECONDS * 1000;
    const idle = await latencies(url, () => performance.now() > until);
    let done = false;
    await prepare?.(round);
    const working = work(round).finally(() => {
      done = true;
    });
    const busy = await latencies(url, () => done);
    p50s.push(quantile(busy, 0.5) / quantile(idle, 0.5));
    p99s.push(quantile(busy, 0.99) / quantile(idle, 0.99));
    rows.push([
      String(round + 1),
      `${milliseconds(quantile(idle, 0.5))}, ${milliseconds(quantile(idle, 0.99))}`,
      `${milliseconds(quantile(busy, 0.5))}, ${milliseconds(quantile(busy, 0.99))}`,
      multiple(p99s.at(-1) ?? 0),
      await working,
    ]);
  }
  printTable(
    `GET ${new URL(url).pathname} at ${REQUESTS_A_SECOND} requests a second: idle, and beside ${what} (p50, p99 in ms)`,
    ['round', 'idle', 'beside', 'p99', 'done'],
    rows,
  );
  console.log(
    `\nmedian of the rounds: p50 ${multiple(median(p50s))}, p99 ${multiple(median(p99s))} (${verdict([median(p99s)], most)})`,
  );
}
