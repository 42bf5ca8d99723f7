// The service under faults, by seeds: the first few here, as many as you like by `bun run faults`.

import { expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runSeeds } from './seeds/main.ts';
import { CLIENT_KINDS, planOf } from './seeds/plan.ts';
import { renderReport } from './seeds/report.ts';

const SEEDS = { from: 1, to: 20, jobs: 3, quiet: true };

test('a seed is one plan', () => {
  const available = {
    nats: true,
    minio: true,
    versitygw: true,
    smallDisk: true,
    faultyDisk: true,
    clock: true,
  };
  for (let seed = 1; seed <= 50; seed++) expect(planOf(seed, available)).toEqual(planOf(seed, available));
  const plans = Array.from({ length: 500 }, (_, index) => planOf(index, available));
  const kinds = new Set(plans.flatMap(({ faults }) => faults.map(({ kind, target }) => `${kind} ${target}`)));
  // Nothing that can be struck is left out by chance.
  expect(kinds.size).toBeGreaterThanOrEqual(76);
});

test(`nothing that was acknowledged is lost or doubled under the faults of ${SEEDS.to} seeds`, async () => {
  const report = await runSeeds(SEEDS, join(tmpdir(), 'atrium-faults-failures'));
  if (report.violated.length > 0) console.error(renderReport(report));
  expect(report.violated).toEqual([]);
  expect(report.seeds).toBe(SEEDS.to);
  // Under faults the service is not away all the time. How often those who work for longer have their turn, the machine decides.
  const counts = CLIENT_KINDS.map((kind) => report.acknowledged.get(kind) ?? 0);
  for (const count of counts) expect(count).toBeGreaterThan(SEEDS.to * 2);
  expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThan(SEEDS.to * 5 * CLIENT_KINDS.length);
});
