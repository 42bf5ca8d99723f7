// A choice of the cells of `bun run bench hostile`, held against a harmless body of the same size on the same machine: no
// absolute times.

import { describe, expect, test } from 'bun:test';
import { type Flood, flood, SERVICE_FLOODS, storeFloods } from '../../bench/hostile/connections.ts';
import { BODIES, type BodyFamily, HARMLESS } from '../../bench/hostile/families.ts';
import { serviceMeter } from '../../bench/hostile/index.ts';
import type { Cost } from '../../bench/hostile/meter.ts';
import { membersOf, place } from '../../bench/hostile/place.ts';
import type { Target } from '../../bench/hostile/routes.ts';
import { startSetting } from '../../bench/hostile/setting.ts';
import { send } from '../../bench/hostile/wire.ts';
import { shared } from '../support/shared.ts';

/** Generous: what is linear takes some times as long as a body that is one text; what is not takes hundreds of times. */
const TIMES_HARMLESS = 20;
const ALLOWED_MS = 200;
const ALLOWED_MIB = 64;
const BYTES = 500_000;
const MiB = 1_048_576;

const CHOSEN = [
  'POST /v1/{workspace_id}/upload/confirm',
  'POST /v1/chat/completions',
  'POST /{workspace_id}/v1/embeddings',
  'POST /api/v1/workspace_metric/{workspace_id}/events',
  'POST /chatapp/{workspace_id}/{bot_id}',
];

const setting = await shared(startSetting());
const meter = await shared(serviceMeter(setting));

type Bounds = { stallMs: number; memoryMiB: number };
const NO_BOUNDS: Bounds = { stallMs: 0, memoryMiB: 0 };

/** The smallest costs of up to three requests: other processes take processors too. One within the bounds is enough. */
async function costOf(
  work: () => Promise<number>,
  bounds: Bounds = NO_BOUNDS,
): Promise<Cost & { statuses: number[] }> {
  const cost = {
    stallMs: Number.POSITIVE_INFINITY,
    memoryMiB: Number.POSITIVE_INFINITY,
    statuses: [] as number[],
  };
  while (cost.statuses.length < 3 && (cost.stallMs > bounds.stallMs || cost.memoryMiB > bounds.memoryMiB)) {
    const { value, stallMs, memoryMiB } = await meter.measure(work);
    cost.stallMs = Math.min(cost.stallMs, stallMs);
    cost.memoryMiB = Math.min(cost.memoryMiB, memoryMiB);
    cost.statuses.push(value);
  }
  return cost;
}

function sender(target: Target, family: BodyFamily, member: string | undefined): () => Promise<number> {
  const { method, path, credential, body } = target;
  const request = {
    method,
    target: path,
    body: place(family, BYTES, body?.example, member),
    headers: [...credential, `content-type: ${body?.mediaType}`],
  };
  return async () => (await send(setting.url, request)).status;
}

describe.each(CHOSEN)('%s', (name) => {
  test('is answered below 500, and costs no more than a harmless body of the size', async () => {
    const target = setting.targets.find((each) => each.name === name);
    if (target === undefined) throw new Error(`there is no ${name}`);
    const harmless = await costOf(sender(target, HARMLESS, undefined));
    const bounds = {
      stallMs: harmless.stallMs * TIMES_HARMLESS + ALLOWED_MS,
      memoryMiB: ALLOWED_MIB + (10 * BYTES) / MiB,
    };
    for (const family of BODIES) {
      for (const member of [undefined, ...membersOf(target.body?.example)]) {
        const { statuses, stallMs, memoryMiB } = await costOf(sender(target, family, member), bounds);
        const cell = `${family.name}, ${member}: `;
        expect(cell + statuses.filter((status) => status >= 500 || status === 0)).toBe(cell);
        if (stallMs > bounds.stallMs || memoryMiB > bounds.memoryMiB)
          throw new Error(
            `${cell}${stallMs} ms and ${memoryMiB} MiB, a harmless body ${harmless.stallMs} ms`,
          );
      }
    }
  });
});

test('a body without a credential costs nothing', async () => {
  const target = setting.targets.find(({ name }) => name.endsWith('upload/confirm')) as Target;
  const body = Buffer.alloc(64 * MiB, 'a');
  const request = { method: target.method, target: target.path, headers: [], body };
  const { statuses, memoryMiB } = await costOf(async () => (await send(setting.url, request)).status);
  expect(new Set(statuses)).toEqual(new Set([422]));
  expect(memoryMiB).toBeLessThan(32);
});

const BESIDE: readonly (Flood & { at: 'service' | 'store' })[] = [
  ...SERVICE_FLOODS.map((each) => ({ ...each, at: 'service' as const })),
  ...storeFloods('atrium').map((each) => ({ ...each, at: 'store' as const })),
].filter(({ name }) => /slow heads|heads of a megabyte|begin and stop|idle connections/.test(name));

test.each(BESIDE)('an upload goes through beside $name at the $at', async ({ at, count, bytes }) => {
  const url = at === 'service' ? setting.url : setting.store;
  const sent = bytes(url);
  const allowedMiB = ALLOWED_MIB + 2 * Math.min((sent.length * count) / MiB, 64);
  let leastMiB = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3 && leastMiB >= allowedMiB; round++) {
    const { value, memoryMiB } = await meter.measure(() =>
      flood(url, { count, bytes: () => sent }, setting.upload),
    );
    expect(value).toEqual([201, 204, 201]);
    leastMiB = Math.min(leastMiB, memoryMiB);
  }
  expect(leastMiB).toBeLessThan(allowedMiB);
});
