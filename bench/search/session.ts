// What every part of the benchmark works with.

import type { Load } from '../lib/k6.ts';
import type { Workspace } from './corpus.ts';
import type { startFloor } from './floor.ts';
import { keyOf } from './load.ts';
import { ask, type Patch, type Request } from './load-generator.ts';
import type { Server } from './server.ts';
import { type Shape, variantsOf } from './shapes.ts';

export type Who = 'admin' | 'reader';

export type Session = {
  server: Server;
  floor: ReturnType<typeof startFloor>;
  large: Workspace;
  small: readonly Workspace[];
  patches: readonly Patch[];
  /** Of one measurement. */
  seconds: number;
  only: RegExp;
};

export const IN_FLIGHT = [1, 8] as const;
export type InFlight = (typeof IN_FLIGHT)[number];
export type Loads = Record<InFlight, Load>;

/** Slow ones are few in the same time. */
const SLOW_STRETCH = 3;

export function requestsOf(
  { server }: Session,
  shape: Shape,
  { who, workspaces }: { who: Who; workspaces: readonly Workspace[] },
): Request[] {
  return variantsOf(shape, workspaces).map(({ workspace, path }) => ({
    url: `${server.url}${path}`,
    key: keyOf(workspace, who),
  }));
}

export async function measure(
  session: Session,
  requests: readonly Request[],
  { slow = false }: { slow?: boolean } = {},
): Promise<Loads> {
  const seconds = session.seconds * (slow ? SLOW_STRETCH : 1);
  return {
    1: await ask(requests, { inFlight: 1, seconds }),
    8: await ask(requests, { inFlight: 8, seconds }),
  };
}

export const measureFloor = (session: Session): Promise<Loads> =>
  measure(session, [{ url: session.floor.url, key: '' }]);

const PROBES = 25;
/** Times the length of a measurement: what the service learns from being asked, it learns within this. */
const SETTLE_STRETCH = 4;

/** Asks each of the shapes a while, and gives the service the time to prepare for what is asked often. */
export async function warmUp(session: Session, batches: readonly (readonly Request[])[]): Promise<void> {
  for (const requests of batches) await ask(requests, { inFlight: 2, seconds: session.seconds });
  await Bun.sleep(session.seconds * SETTLE_STRETCH * 1000);
}

/** Warms up, and says how many documents are found, at the median; throws when an answer is not 200. */
export async function probe(requests: readonly Request[]): Promise<number> {
  const totals: number[] = [];
  for (const { url, key } of requests.slice(0, PROBES)) {
    const response = await fetch(url, { headers: { APIKeyHeader: key } });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${url} was answered ${response.status}: ${text}`);
    totals.push((JSON.parse(text) as { total: number }).total);
  }
  return median(totals);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}
