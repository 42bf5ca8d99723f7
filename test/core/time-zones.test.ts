// Everything is counted in UTC, wherever the machine stands: tests of times run again where it is another day.

import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { startChild } from '../support/child.ts';

const ROOT = resolve(import.meta.dir, '../..');
/** Those that read, compare or sign times, or count by days and months. */
const FILES = [
  'test/core/date-time.test.ts',
  'test/documents/filter/grammar.test.ts',
  'test/gateway/allowances.test.ts',
  'test/gateway/shared-limits.test.ts',
  'test/postgres/client.test.ts',
  'test/s3/presign.test.ts',
  'test/usage/encoding.test.ts',
  'test/usage/paging.test.ts',
];

/** The Postgres of the run serves these runs, too. */
const { TEST_DATABASE_URL, TEST_DATABASE_TEMPLATE } = process.env;
const shared = { TEST_DATABASE_URL, TEST_DATABASE_TEMPLATE };

// 14 hours ahead of UTC and 11 behind.
test.concurrent.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago'])('%s', async (zone) => {
  const child = startChild(
    [process.execPath, 'test', ...FILES.map((file) => `./${file}`), '--timeout', '600000'],
    { environment: { ...shared, TZ: zone }, directory: ROOT },
  );
  const status = await child.exited;
  const failed = child.output().match(/^\(fail\).*$/gm) ?? [];
  expect({ failed, status }).toEqual({ failed: [], status: 0 });
  expect(child.output()).toMatch(/^ *\d{2,} pass$/m);
});
