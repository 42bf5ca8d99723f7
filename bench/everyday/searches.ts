// Searches of every day beside the statement that is written by hand for each: processor time of the process that answers and of Postgres,
// and the time of a single one, in slots that take turns.

import { join } from 'node:path';
import { eventually, startChild } from '../../test/support/child.ts';
import { postgresMicros, processMicros } from '../lib/process.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { median } from '../lib/statistics.ts';
import type { Workspace } from '../search/corpus.ts';
import { keyOf } from '../search/load.ts';
import { IN_FLIGHT } from './operations.ts';
import { SHAPES } from './shapes.ts';
import { HERE, startSide } from './side.ts';
import { fillWorkspace, workspaceOf } from './workspace.ts';

/** Microseconds of one search; `ms`: the time of one that is alone. */
type Price = { answering: number; postgres: number; ms: number };
type Compared = { shape: string; found: number; ours: Price; byHand: Price };
type Asked = { url: string; key: string; pid: number };

const SINGLE = 20;
const TARGET = 1.6;

const sumOf = ({ answering, postgres }: Price): number => answering + postgres;
const ratioOf = ({ ours, byHand }: Compared): number => sumOf(ours) / sumOf(byHand);

export async function measureSearches(options: Pace & { documents: readonly number[] }): Promise<void> {
  for (const documents of options.documents) {
    const rows = (await compareSearches(documents, options)).map((compared) => {
      const { shape, found, ours, byHand } = compared;
      const [processor, latency] = [ratioOf(compared), ours.ms / byHand.ms];
      return [
        shape,
        whole(found),
        `${whole(ours.answering)} + ${whole(ours.postgres)}`,
        `${whole(byHand.answering)} + ${whole(byHand.postgres)}`,
        `${processor.toFixed(2)} ×`,
        `${milliseconds(ours.ms)}, ${milliseconds(byHand.ms)}`,
        `${latency.toFixed(2)} ×`,
        `≤ ${TARGET} ×: ${Math.max(processor, latency) <= TARGET ? 'met' : '**missed**'}`,
      ];
    });
    printTable(
      `${whole(documents)} documents: processor time in µs, answering + Postgres, ${IN_FLIGHT} in flight; ms of one alone; medians of ${options.rounds} rounds`,
      ['search', 'found', 'ours', 'by hand', 'ratio', 'alone, ms', 'ratio', 'target'],
      rows,
    );
  }
}

type Pace = { rounds: number; seconds: number; only: RegExp };

/** Throws where both do not find the same. */
async function compareSearches(documents: number, pace: Pace): Promise<Compared[]> {
  const workspace = workspaceOf(documents);
  await using side = await startSide(HERE);
  await fillWorkspace(side.databaseUrl, workspace);
  await using byHand = await startByHand(side.databaseUrl, workspace);
  const compared: Compared[] = [];
  for (const [index, shape] of SHAPES.entries()) {
    if (!pace.only.test(shape.name)) continue;
    const key = keyOf(workspace, shape.reader ? 'reader' : 'admin');
    const sides = {
      ours: { url: `${side.url}/v1/filter/${workspace.id}?${shape.query}`, key, pid: side.pid },
      byHand: { url: `${byHand.url}/${index}`, key, pid: byHand.pid },
    };
    const found = await totals(shape, [sides.ours, sides.byHand]);
    compared.push({ shape: shape.name, found, ...(await inTurn(sides, side.dataDir, pace)) });
  }
  return compared;
}

/** The medians of each; each goes first as often as the other. */
async function inTurn<Name extends string>(
  sides: Record<Name, Asked>,
  dataDir: string,
  { rounds, seconds }: Pace,
): Promise<Record<Name, Price>> {
  const names = Object.keys(sides) as Name[];
  const prices = new Map<Name, Price[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const price = await measure(sides[name], dataDir, seconds);
      // The first round warms up.
      if (round > 0) prices.get(name)?.push(price);
    }
  }
  return Object.fromEntries([...prices].map(([name, found]) => [name, medianOf(found)])) as Record<
    Name,
    Price
  >;
}

async function startByHand(databaseUrl: string, workspace: Workspace) {
  const child = startChild([
    process.execPath,
    join(import.meta.dir, 'by-hand.ts'),
    databaseUrl,
    JSON.stringify(workspace),
  ]);
  const port = await eventually('the statements by hand', () => /^(\d+)\n/.exec(child.output())?.[1]);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, [Symbol.asyncDispose]: () => child.stop() };
}

/** Throws where two sides do not find the same. */
async function totals(shape: { name: string }, sides: readonly [Asked, Asked]): Promise<number> {
  const [first = Number.NaN, second = Number.NaN] = await Promise.all(
    sides.map(async (side) => {
      const answer = await ask(side);
      return ((await answer.json()) as { total: number }).total;
    }),
  );
  if (first !== second) throw new Error(`${shape.name}: ${first} are found, and ${second} by the other`);
  return first;
}

async function ask({ url, key }: Asked): Promise<Response> {
  const answer = await fetch(url, { headers: { APIKeyHeader: key } });
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

async function measure(asked: Asked, dataDir: string, seconds: number): Promise<Price> {
  const times: number[] = [];
  for (let single = 0; single < SINGLE; single++) {
    const startedAt = performance.now();
    await (await ask(asked)).arrayBuffer();
    times.push(performance.now() - startedAt);
  }
  const used = (): Omit<Price, 'ms'> => ({
    answering: processMicros(asked.pid),
    postgres: postgresMicros(dataDir),
  });
  const before = used();
  const endsAt = performance.now() + seconds * 1000;
  let done = 0;
  const keep = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await (await ask(asked)).arrayBuffer();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, keep));
  const after = used();
  return {
    answering: (after.answering - before.answering) / done,
    postgres: (after.postgres - before.postgres) / done,
    ms: median(times),
  };
}

const medianOf = (prices: readonly Price[]): Price => ({
  answering: median(prices.map(({ answering }) => answering)),
  postgres: median(prices.map(({ postgres }) => postgres)),
  ms: median(prices.map(({ ms }) => ms)),
});
