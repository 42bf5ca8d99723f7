// What one request of an operation costs, in processor time.

import { median } from '../lib/statistics.ts';
import { checked, IN_FLIGHT, type Library, type Operation } from './operations.ts';
import type { Used } from './side.ts';

export type Price = Used & { perSecond: number };

/** The server that is measured, with the processor time that it has used so far, and the documents that operations ask for. */
type Measured = { side: { used(): Used }; library: Library };

/** Requests are numbered through, so that no two change a document to the same. */
let asked = 0;

export async function measure(
  { side, library }: Measured,
  operation: Operation,
  seconds: number,
): Promise<Price> {
  let done = 0;
  const before = side.used();
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const keep = async (line: number): Promise<void> => {
    while (performance.now() < endsAt) {
      const answer = await checked(operation.ask(library, asked++, line));
      await answer.arrayBuffer();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, line) => keep(line)));
  const took = (performance.now() - startedAt) / 1000;
  const after = side.used();
  return {
    service: (after.service - before.service) / done,
    postgres: (after.postgres - before.postgres) / done,
    store: (after.store - before.store) / done,
    perSecond: done / took,
  };
}

export const medianOf = (prices: readonly Price[]): Price => ({
  service: median(prices.map(({ service }) => service)),
  postgres: median(prices.map(({ postgres }) => postgres)),
  store: median(prices.map(({ store }) => store)),
  perSecond: median(prices.map(({ perSecond }) => perSecond)),
});

export const sumOf = ({ service, postgres, store }: Price): number => service + postgres + store;
