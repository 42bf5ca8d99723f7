// Search over a million documents, as somebody who works with documents and no more: each shape beside a floor of the same run. Postgres
// answers, or Meilisearch where MEILI_URL is set.

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually } from '../../test/support/child.ts';
import type { Load } from '../lib/k6.ts';
import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import { workspacesOf } from './corpus.ts';
import { startFloor } from './floor.ts';
import { ensureCorpus, keyOf } from './load.ts';
import { ask, type Request } from './load-generator.ts';
import { startServer } from './server.ts';
import { pathsOf, SHAPES } from './shapes.ts';

const OPTIONS = {
  documents: { type: 'string', default: '1000000' },
  others: { type: 'string', default: '100' },
  small: { type: 'string', default: '10000' },
  data: { type: 'string', default: join(import.meta.dir, '../.data') },
  seconds: { type: 'string', default: '5' },
  only: { type: 'string', default: '' },
} as const;

/** A million documents take a while to be copied to a search server. */
const MIRRORED_WITHIN_MS = 3_600_000;
const WARM_UP_SECONDS = 2;

/** `--others` workspaces of `--small` documents lie beside the one that is asked; `--only`: a part of a shape's name. */
export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const [documents, others, small, seconds] = [
    values.documents,
    values.others,
    values.small,
    values.seconds,
  ].map(Number) as [number, number, number, number];
  const folder = resolve(values.data);
  const workspaces = workspacesOf({ documents, others, small });
  const [large] = workspaces;
  if (large === undefined) throw new Error('there is no workspace');
  await ensureCorpus(folder, workspaces);
  const { MEILI_URL, MEILI_API_KEY = '' } = process.env;
  const server = await startServer(
    folder,
    large,
    MEILI_URL === undefined ? {} : { MEILI_URL, MEILI_API_KEY },
  );
  const floor = startFloor(server.databaseUrl, large);
  try {
    if (MEILI_URL !== undefined) await mirrored(server.url);
    const rows: string[][] = [];
    for (const shape of SHAPES.filter(({ name }) => name.includes(values.only))) {
      const requests = pathsOf(shape, large).map((path) => ({
        url: `${server.url}${path}`,
        key: keyOf(large, 'reader'),
      }));
      await ask(requests, { inFlight: 2, seconds: WARM_UP_SECONDS });
      const bare = await measure([{ url: floor.url, key: '' }], seconds);
      const ours = await measure(requests, seconds);
      const ratios = ([1, 8] as const).map((inFlight) => ours[inFlight].p95Ms / bare[inFlight].p95Ms);
      rows.push([
        shape.name,
        times(ours[1]),
        multiple(ratios[0] ?? 0),
        times(ours[8]),
        multiple(ratios[1] ?? 0),
        verdict(ratios.slice(0, 1), shape.target),
      ]);
    }
    printTable(
      `${whole(documents)} documents, by ${MEILI_URL === undefined ? 'Postgres' : 'Meilisearch'}`,
      ['shape', 'p50 · p95 ms at 1', '× floor', 'p50 · p95 ms at 8', '× floor', 'goal'],
      rows,
    );
  } finally {
    await floor.stop();
    await server.child.stop();
  }
}

const measure = async (requests: readonly Request[], seconds: number): Promise<Record<1 | 8, Load>> => ({
  1: await ask(requests, { inFlight: 1, seconds }),
  8: await ask(requests, { inFlight: 8, seconds }),
});

const times = ({ p50Ms, p95Ms, failed }: Load): string =>
  `${milliseconds(p50Ms)} · ${milliseconds(p95Ms)}${failed === 0 ? '' : `, ${failed} refused`}`;

async function mirrored(url: string): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    const { services } = (await (await fetch(`${url}/readyz`)).json()) as {
      services: Record<string, { state: string; waiting: number }>;
    };
    return services['search']?.state === 'ready' && services['search'].waiting === 0;
  };
  await eventually('Meilisearch to have every document', isReady, MIRRORED_WITHIN_MS);
}
