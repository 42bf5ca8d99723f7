// The state of the archive of the write-ahead log, for the probes and metrics of each process. The archiving process reports it in a file.

import type { Config } from './config.ts';
import type { Clock } from './core/clock.ts';
import { postgresFolder } from './database.ts';
import { readStatus, type WalArchiveStatus } from './embedded/wal-archive/index.ts';
import type { Area } from './http/area.ts';
import { counter, gauge } from './http/metrics.ts';
import type { ServiceState } from './http/readiness.ts';

/** Log that waits for longer, beside the time-out, is late. */
const LAG_SECONDS_MAX = 120;
/** It reports every few seconds. */
const SILENCE_MS_MAX = 60_000;

type Settings = Pick<Config, 'dataDir' | 'settings'>;

/** Undefined where nothing is archived. One of several processes reads the settings of its owner. */
export function createWalArchiveWatch(config: Settings, clock: Clock): Area | undefined {
  const setting = (name: string) => config.settings.find((each) => each.name === name)?.value ?? null;
  const bucket = setting('WAL_ARCHIVE_BUCKET');
  if (bucket === null) return undefined;
  const lagMax = Number(setting('WAL_ARCHIVE_TIMEOUT_SECONDS')) + LAG_SECONDS_MAX;
  const read = (): WalArchiveStatus | undefined => readStatus(postgresFolder(config));

  const check = async (): Promise<ServiceState> => {
    const status = read();
    if (status === undefined) return { state: 'degraded', detail: 'nothing was archived yet', bucket };
    const { at, failure, base_backup_failure: baseFailure, lag_seconds: lag } = status;
    const silentMs = clock.now().getTime() - Date.parse(at);
    const reasons = [
      silentMs > SILENCE_MS_MAX ? `it has reported nothing for ${Math.round(silentMs / 1000)} s` : '',
      failure === null ? '' : `log waits on the disk: ${failure}`,
      failure === null && lag > lagMax ? `the log has waited for ${lag} s` : '',
      status.gap ? 'log was given up, and no base backup has followed yet' : '',
      baseFailure === null ? '' : `no base backup can be made: ${baseFailure}`,
      status.retention_failure === null
        ? ''
        : `what is older than the retention is not removed: ${status.retention_failure}`,
      status.other_timeline === null
        ? ''
        : `a copy of this database archives here, too, on timeline ${status.other_timeline}; restores would take its log. Stop the ` +
          'wrong one, and start the other one again',
    ].filter((reason) => reason !== '');
    const state = { bucket, ...status };
    if (reasons.length === 0) return { state: 'ready', ...state };
    return { state: 'degraded', detail: reasons.join('; '), ...state };
  };
  const of = (pick: (status: WalArchiveStatus) => number | undefined) => () => {
    const status = read();
    const value = status === undefined ? undefined : pick(status);
    return value === undefined ? [] : [{ value }];
  };
  const ageOf = ({ base_backup_at: at }: WalArchiveStatus): number | undefined =>
    at === null ? undefined : Math.max(0, (clock.now().getTime() - Date.parse(at)) / 1000);
  return {
    jobs: [],
    checks: [{ name: 'wal_archive', essential: false, check }],
    metrics: [
      gauge(
        'atrium_wal_archive_waiting_bytes',
        'Log of the embedded Postgres that waits for its archive.',
        of((status) => status.waiting_bytes),
        'largest',
      ),
      gauge(
        'atrium_wal_archive_waiting_segments',
        'The same in segments.',
        of((status) => status.waiting_segments),
        'largest',
      ),
      gauge(
        'atrium_wal_archive_lag_seconds',
        'For how long the first of them has waited.',
        of((status) => status.lag_seconds),
        'largest',
      ),
      gauge(
        'atrium_wal_archive_base_backup_age_seconds',
        'Since when the last base backup has been there.',
        of(ageOf),
        'largest',
      ),
      counter(
        'atrium_wal_archive_archived_total',
        'Files of the log that the archive has acknowledged.',
        of((status) => status.archived),
        'largest',
      ),
      counter(
        'atrium_wal_archive_failures_total',
        'Attempts that failed.',
        of((status) => status.failed),
        'largest',
      ),
      counter(
        'atrium_wal_archive_given_up_total',
        'Segments that were given up, because more waited than may.',
        of((status) => status.given_up),
        'largest',
      ),
    ],
  };
}
