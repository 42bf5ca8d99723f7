// The scenarios of `bun run bench load`: every request of every area once, against the service as it is now, so that none goes stale.

import { expect, test } from 'bun:test';
import { runLoad } from '../../bench/load/run.ts';
import { AREAS } from '../../bench/load/weights.ts';
import { testDatabase } from '../support/database.ts';
import { findServer } from '../support/servers.ts';

const missing = findServer('k6') === undefined ? 'k6 is not installed: bun run servers' : undefined;
if (missing !== undefined && process.env['REQUIRE_SERVERS'] === '1') throw new Error(missing);

/** As many as the area with the most kinds of work has, and a second upload, after which the first is removed. */
const ITERATIONS = 6;
const REQUESTS = 38;

test.skipIf(missing !== undefined)(
  `a smoke run of all areas finds no mistake${missing === undefined ? '' : ` (${missing})`}`,
  async () => {
    await using database = await testDatabase();
    const environment = { DATABASE_URL: database.url };
    const result = await runLoad({ shape: 'smoke', area: 'all', iterations: ITERATIONS, environment });
    expect(result.checks.filter(({ fails }) => fails > 0)).toEqual([]);
    expect(result.broken).toEqual([]);
    expect([...new Set(result.checks.map(({ request }) => request.split(':')[0] ?? ''))].sort()).toEqual(
      AREAS.toSorted(),
    );
    expect(result.checks.map(({ request }) => request)).toHaveLength(REQUESTS);
    expect(result.iterations).toEqual({ done: AREAS.length * ITERATIONS, refused: 0, notBegun: 0 });
    expect(result.memory.peakMiB).toBeGreaterThan(0);
  },
);
