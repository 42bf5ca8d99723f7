// The settings of the archive of the write-ahead log, and what they mean for the server.

import { pattern, type Setting, SettingsError } from '../../core/settings-reader.ts';
import { bytes, duration } from '../../core/settings-units.ts';

export type WalArchiveSettings = {
  bucket: string;
  /** The log of a quiet database is archived after this time, too. */
  timeoutSeconds: number;
  retentionDays: number;
  /** 0: base backups are made by the command alone. */
  baseIntervalHours: number;
  queueBytesMax: number;
};

export const WAL_ARCHIVE_SETTINGS = {
  WAL_ARCHIVE_BUCKET: {
    kind: pattern(
      /^(?=.{3,63}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/,
      '3 to 63 of a-z, 0-9, . and -, as S3 names buckets',
    ),
    otherwise: 'no archive',
    meaning: 'another bucket of the store, for the write-ahead log and base backups of the embedded Postgres',
  },
  WAL_ARCHIVE_TIMEOUT_SECONDS: {
    kind: duration('seconds', 1, 3600),
    default: '60',
    meaning: 'time after which a write is sent to the archive at the latest',
  },
  WAL_ARCHIVE_RETENTION_DAYS: {
    kind: duration('days', 1, 36_500),
    default: '7',
    meaning: 'days back to which the archive can restore any moment',
  },
  WAL_ARCHIVE_BASE_INTERVAL_HOURS: {
    kind: duration('hours', 0, 8760),
    default: '24',
    meaning: 'time between two base backups, which a restore begins with; 0: by the command alone',
  },
  WAL_ARCHIVE_QUEUE_BYTES_MAX: {
    kind: bytes(67_108_864, Number.MAX_SAFE_INTEGER),
    default: '8589934592',
    meaning:
      'log that may wait for the archive on the disk, in bytes; beyond, it is given up, and a base backup follows',
  },
} satisfies Record<string, Setting>;

type Given = {
  [Name in keyof typeof WAL_ARCHIVE_SETTINGS]: Name extends 'WAL_ARCHIVE_BUCKET'
    ? string | undefined
    : number;
} & { DATABASE_URL: string | undefined; S3_BUCKET: string };

/** Undefined where nothing is archived. Throws SettingsError where it cannot be. */
export function toWalArchiveSettings(given: Given): WalArchiveSettings | undefined {
  const { WAL_ARCHIVE_BUCKET: bucket } = given;
  if (bucket === undefined) return undefined;
  if (given.DATABASE_URL !== undefined)
    throw new SettingsError(
      'WAL_ARCHIVE_BUCKET is for the embedded Postgres, which DATABASE_URL replaces: archive the log by the means of your server',
    );
  if (bucket === given.S3_BUCKET)
    throw new SettingsError(
      `WAL_ARCHIVE_BUCKET and S3_BUCKET are both ${bucket}: the archive needs a bucket of its own`,
    );
  return {
    bucket,
    timeoutSeconds: given.WAL_ARCHIVE_TIMEOUT_SECONDS,
    retentionDays: given.WAL_ARCHIVE_RETENTION_DAYS,
    baseIntervalHours: given.WAL_ARCHIVE_BASE_INTERVAL_HOURS,
    queueBytesMax: given.WAL_ARCHIVE_QUEUE_BYTES_MAX,
  };
}

/**
 * What makes the server keep each segment until the archive has it. It runs no command: the files `archive_status/*.ready` are
 * what is to be archived, and are renamed to `.done` when the store has acknowledged them. Every start of a cluster that is archived
 * needs these, or the log would have gaps.
 */
export const archivingServer = (settings: WalArchiveSettings | undefined): Record<string, string> =>
  settings === undefined
    ? {}
    : { archive_mode: 'on', archive_command: '', archive_timeout: `${settings.timeoutSeconds}s` };
