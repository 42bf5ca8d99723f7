// The price list: what each operation of everyday costs the service, Postgres and the store in processor time, at 16 in
// flight; optionally beside another checkout, slot by slot in turn.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable, whole } from '../lib/report.ts';
import { fill, IN_FLIGHT, type Library, OPERATIONS, type Operation } from './operations.ts';
import { measure, medianOf, type Price, sumOf } from './price.ts';
import { measureSearches } from './searches.ts';
import { HERE, type Side, startSide } from './side.ts';

const OPTIONS = {
  against: { type: 'string', default: '' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
  searches: { type: 'string', default: '' },
} as const;

const USAGE = `bun run bench everyday [--against FOLDER] [--rounds 3] [--seconds 1] [--only <part of an operation's name>]
  [--searches 300,10000]  searches alone, of so many documents each, beside statements written by hand`;

type Prepared = { side: Side; library: Library };

export async function run(): Promise<void> {
  const { against, rounds, seconds, only, documents } = readArguments();
  if (documents.length > 0) return measureSearches({ documents, rounds, seconds, only });
  const operations = OPERATIONS.filter(({ name }) => only.test(name));
  const prices = await price({ against, rounds, seconds, operations });
  const rows = operations.map((operation) => rowOf(operation, prices));
  const title = `Processor time in µs for one request, ${IN_FLIGHT} in flight, medians of ${rounds} rounds of ${seconds} s`;
  const columns = ['operation', 'service', 'Postgres', 'store', 'sum', 'a second'];
  printTable(
    title,
    against === undefined ? columns : [...columns, 'sum before', 'of before', 'bar', 'rate of before'],
    rows,
  );
}

type Prices = Map<string, { here: Price; before: Price | undefined }>;

/** The medians of each operation, of this checkout and of the one it is compared with. */
async function price(options: {
  against: string | undefined;
  rounds: number;
  seconds: number;
  operations: readonly Operation[];
}): Promise<Prices> {
  const { against, rounds, seconds, operations } = options;
  await using stack = new AsyncDisposableStack();
  const sides: Prepared[] = [];
  for (const folder of [HERE, ...(against === undefined ? [] : [against])]) {
    const side = stack.use(await startSide(folder));
    sides.push({ side, library: await fill(side.url) });
  }
  const found = new Map<string, Price[][]>();
  for (let round = 0; round <= rounds; round++) {
    for (const operation of operations) {
      const measured = found.get(operation.name) ?? sides.map(() => []);
      found.set(operation.name, measured);
      // Each goes first as often as the other.
      const order = round % 2 === 0 ? [...sides.keys()] : [...sides.keys()].reverse();
      for (const index of order) {
        const slot = await measure(sides[index] as Prepared, operation, seconds);
        // The first round warms up.
        if (round > 0) measured[index]?.push(slot);
      }
    }
  }
  return new Map(
    [...found].map(([name, [here = [], before]]) => [
      name,
      { here: medianOf(here), before: before && medianOf(before) },
    ]),
  );
}

/** What two measurements of the same differ by. */
const NOISE = 1.1;

function rowOf({ name, bar }: Operation, prices: Prices): string[] {
  const found = prices.get(name);
  if (found === undefined) return [name];
  const { here, before } = found;
  const own = [here.service, here.postgres, here.store, sumOf(here), here.perSecond].map(whole);
  if (before === undefined) return [name, ...own];
  const part = sumOf(here) / sumOf(before);
  const kept = part <= (bar ?? NOISE);
  return [
    name,
    ...own,
    whole(sumOf(before)),
    part.toFixed(2),
    `≤ ${bar ?? 1}: ${kept ? 'met' : '**missed**'}`,
    (here.perSecond / before.perSecond).toFixed(2),
  ];
}

/** Ends the process with the usage for an option that is none, or no number. */
function readArguments() {
  try {
    const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
    const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
    if (!(rounds >= 1 && seconds > 0)) throw new Error('rounds and seconds are numbers above 0');
    const against = values.against === '' ? undefined : resolve(values.against);
    const documents = values.searches.split(',').filter(Boolean).map(Number);
    if (!documents.every((count) => count >= 1)) throw new Error('the numbers of documents are above 0');
    return { against, rounds, seconds, only: new RegExp(values.only), documents };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    process.exit(2);
  }
}
