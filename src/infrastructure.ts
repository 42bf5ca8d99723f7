// The parts that all areas use: the database, the object store, the notices of changes, and the queue of jobs.

import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Clock } from './core/clock.ts';
import { createDiskProbe } from './core/disk-fault.ts';
import type { Logger } from './core/logger.ts';
import { createPeriodic } from './core/periodic.ts';
import { postgresFolder } from './database.ts';
import type { Area } from './http/area.ts';
import { gauge } from './http/metrics.ts';
import type { ServiceState } from './http/readiness.ts';
import { predicateOf, type Sql } from './infra/postgres/client.ts';
import type { Invalidation } from './infra/postgres/invalidation.ts';
import type { JobQueue, QueueState } from './infra/postgres/job-queue.ts';
import { createBucketJob } from './infra/s3/bucket.ts';
import type { ObjectStore } from './infra/s3/client.ts';

/** Confirms and expiries compare the two clocks; with minutes between them, requests that are in time would be refused. */
const CLOCK_SKEW_MS_MAX = 60_000;

/**
 * A worker looks for due jobs every few seconds. Where one has waited for this long, and none of its kind was begun meanwhile,
 * something keeps the worker from them; a long queue that is being worked off is no fault.
 */
const JOB_LAG_SECONDS_MAX = 300;

const DISK_INTERVAL_MS = 15_000;

export type InfrastructureDeps = {
  config: Pick<Config, 'dataDir' | 'objects'>;
  sql: Sql;
  /** All pools, by what they are for. */
  pools: Record<string, Sql>;
  objects: ObjectStore;
  invalidation: Invalidation;
  clock: Clock;
  log: Logger;
};

export function createInfrastructure(deps: InfrastructureDeps): Area {
  const { config, sql, pools, objects, invalidation, clock, log } = deps;
  // Only an embedded database or store has its folder; without the folder the probe finds no fault.
  const probeDatabaseDisk = createDiskProbe(postgresFolder(config));
  const probeObjectsDisk = createDiskProbe(join(config.dataDir, 'object-store'));

  const checkPostgres = async (): Promise<ServiceState> => {
    const asked = await sql<{ now: Date }[]>`SELECT clock_timestamp() AS now`.catch(predicateOf);
    if (typeof asked === 'string') {
      const fault = await probeDatabaseDisk();
      const reason = fault === undefined ? '' : `: the disk of DATA_DIR/postgres ${fault}`;
      return { state: 'down', detail: `it ${asked}${reason}` };
    }
    const now = asked[0]?.now.getTime() ?? 0;
    const diskFault = await sql.diskFault();
    if (diskFault !== undefined)
      return { state: 'degraded', detail: `its disk ${diskFault}: what needs space there is refused` };
    const clockSkewMs = clock.now().getTime() - now;
    if (Math.abs(clockSkewMs) < CLOCK_SKEW_MS_MAX) return { state: 'ready' };
    return { state: 'degraded', detail: "its clock and this machine's differ", clock_skew_ms: clockSkewMs };
  };
  const checkObjectStore = async (): Promise<ServiceState> => {
    const fault = await objects.check().catch(async (error: unknown) => {
      const found = await probeObjectsDisk();
      if (found === undefined) throw error;
      return found;
    });
    if (fault === undefined) return { state: 'ready' };
    return { state: 'degraded', detail: `it takes no uploads: the disk of DATA_DIR/object-store ${fault}` };
  };
  const checkKeyRevocation = async (): Promise<ServiceState> =>
    invalidation.connected()
      ? { state: 'ready' }
      : { state: 'degraded', detail: 'no notices from the database: every key is looked up' };

  let disk: { free: number; size: number } | undefined;
  // At an interval, because a scrape must not wait for a disk that hangs.
  const diskJob = createPeriodic({
    name: 'service.disk',
    intervalMs: DISK_INTERVAL_MS,
    run: async () => {
      const { bavail, blocks, bsize } = await statfs(config.dataDir);
      disk = { free: bavail * bsize, size: blocks * bsize };
    },
    log,
  });
  const ofDisk = (figure: 'free' | 'size') => () => (disk === undefined ? [] : [{ value: disk[figure] }]);
  const byPool = (figure: 'busy' | 'max' | 'waiting') => () =>
    Object.entries(pools).map(([pool, each]) => ({ labels: { pool }, value: each.use()[figure] }));
  return {
    jobs: [
      diskJob,
      // The embedded store makes its bucket itself.
      ...(config.objects.external === undefined ? [] : [createBucketJob(objects, log)]),
      { name: 'postgres.invalidation', start: invalidation.start, stop: invalidation.close },
    ],
    checks: [
      { name: 'postgres', essential: true, check: checkPostgres },
      { name: 'object_store', essential: false, check: checkObjectStore },
      { name: 'key_revocation', essential: false, check: checkKeyRevocation },
    ],
    metrics: [
      gauge(
        'atrium_data_folder_free_bytes',
        'Bytes free on the disk of DATA_DIR.',
        ofDisk('free'),
        'largest',
      ),
      gauge('atrium_data_folder_disk_bytes', 'Size of that disk.', ofDisk('size'), 'largest'),
      gauge('atrium_database_connections_busy', 'Connections that run statements.', byPool('busy')),
      gauge('atrium_database_connections_max', 'The most connections that a pool opens.', byPool('max')),
      gauge('atrium_database_waiting', 'Statements that wait for a connection.', byPool('waiting')),
    ],
  };
}

/** Of the database and of its schema; null while it cannot be asked. */
export async function readVersions(sql: Sql): Promise<{ postgres: string | null; schema: string | null }> {
  const [row] = await sql<{ postgres: string; schema: string }[]>`
    SELECT current_setting('server_version') AS postgres, max(name) AS schema FROM schema_migrations`.catch(
    () => [],
  );
  return { postgres: row?.postgres ?? null, schema: row?.schema ?? null };
}

/** The jobs of all areas, which end before the areas that do them. */
export function createQueuedWork(queue: JobQueue): Area {
  let latest: readonly QueueState[] = [];
  const check = async (): Promise<ServiceState> => {
    const kinds = await queue.backlog();
    latest = kinds;
    const isLate = ({ lagSeconds, idleSeconds }: QueueState): boolean =>
      Math.min(lagSeconds, idleSeconds) > JOB_LAG_SECONDS_MAX;
    const late = kinds.filter(isLate).map(({ kind }) => kind);
    const spent = kinds.filter(({ givenUp }) => givenUp > 0).map(({ kind }) => kind);
    const reasons = [
      late.length > 0 ? `jobs wait for too long: ${late.join(', ')}` : '',
      spent.length > 0 ? `jobs were given up: ${spent.join(', ')}` : '',
    ].filter((reason) => reason !== '');
    const figures = kinds.map((state) => [
      state.kind,
      {
        waiting: state.waiting,
        lag_seconds: Math.round(state.lagSeconds),
        late: isLate(state),
        given_up: state.givenUp,
      },
    ]);
    const state = { kinds: Object.fromEntries(figures) };
    if (reasons.length === 0) return { state: 'ready', ...state };
    return { state: 'degraded', detail: reasons.join('; '), ...state };
  };
  const byKind = (figure: 'waiting' | 'lagSeconds' | 'givenUp') => () =>
    latest.map((state) => ({ labels: { kind: state.kind }, value: state[figure] }));
  return {
    jobs: [queue.job],
    checks: [{ name: 'jobs', essential: false, check }],
    metrics: [
      gauge('atrium_jobs_waiting', 'Jobs that wait, of all processes.', byKind('waiting'), 'largest'),
      gauge('atrium_jobs_lag_seconds', 'How long the first has been due.', byKind('lagSeconds'), 'largest'),
      gauge('atrium_jobs_given_up', 'Jobs that failed at their last attempt.', byKind('givenUp'), 'largest'),
    ],
  };
}
