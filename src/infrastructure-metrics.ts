// What operators watch of the disk and the database: free bytes, and the connections of each pool.

import { statfs } from 'node:fs/promises';
import type { Job } from './core/lifecycle.ts';
import type { Logger } from './core/logger.ts';
import { createPeriodic } from './core/periodic.ts';
import { gauge, type Metric } from './http/metrics.ts';
import type { PoolUse, Sql } from './infra/postgres/client.ts';

const INTERVAL_MS = 15_000;

/** A disk is asked at an interval, because a scrape must not wait for one that hangs. */
export function createDiskMetrics(dataDir: string, log: Logger): { job: Job; metrics: Metric[] } {
  let latest: { free: number; size: number } | undefined;
  const job = createPeriodic({
    name: 'service.disk',
    intervalMs: INTERVAL_MS,
    run: async () => {
      const { bavail, blocks, bsize } = await statfs(dataDir);
      latest = { free: bavail * bsize, size: blocks * bsize };
    },
    log,
  });
  const read = (name: 'free' | 'size') => () => (latest === undefined ? [] : [{ value: latest[name] }]);
  return {
    job,
    metrics: [
      gauge(
        'atrium_data_folder_free_bytes',
        'Bytes that are free on the disk of DATA_DIR.',
        read('free'),
        'largest',
      ),
      gauge('atrium_data_folder_disk_bytes', 'Size of that disk.', read('size'), 'largest'),
    ],
  };
}

/** `pools`: by what they are for. */
export function databaseMetrics(pools: Record<string, Sql>): Metric[] {
  const byPool = (read: (use: PoolUse) => number) => () =>
    Object.entries(pools).map(([pool, sql]) => ({ labels: { pool }, value: read(sql.use()) }));
  return [
    gauge(
      'atrium_database_connections_busy',
      'Connections that run statements or transactions.',
      byPool(({ busy }) => busy),
    ),
    gauge(
      'atrium_database_connections_max',
      'The most connections that a pool opens.',
      byPool(({ max }) => max),
    ),
    gauge(
      'atrium_database_waiting',
      'Statements and transactions that wait for a connection.',
      byPool(({ waiting }) => waiting),
    ),
  ];
}
