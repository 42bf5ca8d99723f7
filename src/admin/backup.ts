// `bun run admin backup`, `verify` and `restore`: what a backup needs of the service's parts.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { version } from '../../package.json';
import { hasWorkspaces } from '../access/index.ts';
import { restoreBackup, takeBackup, verifyBackup } from '../backup/index.ts';
import type { Config, S3Settings } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { lowerPriority, lowerPriorityOf } from '../core/priority.ts';
import { createProgress } from '../core/progress.ts';
import { connectDatabase, MIGRATIONS } from '../database.ts';
import {
  BACKUP_LOCK,
  MARKS,
  OBJECT_KEYS,
  ownerMark,
  REBUILT_TABLES,
  readIdentity,
} from '../documents/index.ts';
import { MODEL_USAGE_PROJECTION } from '../gateway/index.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { readMigrations } from '../infra/postgres/migrate.ts';
import { createObjectStore } from '../infra/s3/client.ts';
import { createTransfer } from '../infra/s3/transfer.ts';
import { openBacking, startBacking } from '../processes/backing.ts';
import { createUsage } from '../usage/index.ts';

/** For events that were accepted before the backup, to be stored. */
export const EVENTS_WAIT_MS = 30_000;
/** Requests of a service on the same machine go first. */
const NICENESS = 10;

/** A report, and the reason why the command ends with 1 although it is done. */
export type Done = { report: Record<string, unknown>; refusal?: string };

export type Context = { config: Config; log: Logger; record(sql: Sql, action: string): Promise<void> };

export const openObjects = ({ objects: { bucket, region, formProfile } }: Config, s3: S3Settings) =>
  createObjectStore({ ...s3, bucket, region, formProfile });

export const progressTo = (log: Logger) => createProgress((sentence) => log.warn({}, sentence));

export async function backup(folder: string, { config, log, record }: Context): Promise<Done> {
  lowerPriority(NICENESS);
  const backing = await openBacking(config, log);
  try {
    const sql = await connectDatabase(backing.databaseUrl, log);
    const objects = openObjects(config, backing.s3);
    try {
      await record(sql, 'service.backup');
      const report = await takeBackup(resolve(folder), {
        sql,
        objects: createTransfer(objects),
        lock: BACKUP_LOCK,
        objectKeys: OBJECT_KEYS,
        rebuilt: REBUILT_TABLES,
        identity: () => readIdentity(sql),
        // The embedded server is on this machine.
        onReading: (pid) => {
          if (config.databaseUrl === undefined) lowerPriorityOf(pid, 'postgres', NICENESS);
        },
        // Where no service runs nothing stores them.
        awaitEvents: () => awaitEvents(sql, { config, log, timeoutMs: backing.beside ? EVENTS_WAIT_MS : 0 }),
        version,
        progress: progressTo(log),
      });
      if (report.missing_objects === 0) return { report };
      return {
        report,
        refusal: `the backup is complete, but the store has no object for ${report.missing_objects} documents; manifest.json lists their keys`,
      };
    } finally {
      objects.close();
      await sql.end();
    }
  } finally {
    await backing.stop();
  }
}

/** Null where the events wait in a journal of another machine, or NATS is away. */
export async function awaitEvents(
  sql: Sql,
  { config, log, timeoutMs }: { config: Config; log: Logger; timeoutMs: number },
): Promise<number | null> {
  const directory = join(config.dataDir, 'events');
  if (config.usage.nats === undefined && !existsSync(join(directory, 'journal.sqlite'))) return null;
  const usage = await createUsage({
    sql,
    clock: systemClock,
    log,
    identity: () => readIdentity(sql),
    directory,
    settings: config.usage,
    projections: [MODEL_USAGE_PROJECTION],
  });
  await usage.buffer.start();
  try {
    return await usage.awaitStored(timeoutMs);
  } finally {
    await usage.buffer.stop();
  }
}

export async function verify(folder: string, { log }: Context): Promise<Done> {
  const { report, faults } = await verifyBackup(resolve(folder), progressTo(log));
  return faults.length === 0 ? { report } : { report, refusal: faults.join('; ') };
}

/** The data folder is locked meanwhile, so that no service starts on it. */
export async function restore(folder: string, { config, log, record }: Context): Promise<Done> {
  const backing = await startBacking(config, log);
  const objects = openObjects(config, backing.s3);
  try {
    await objects.ensureBucket();
    const report = await restoreBackup(resolve(folder), {
      migrations: readMigrations(MIGRATIONS),
      connect: (until) => connectDatabase(backing.databaseUrl, log, { until }),
      async upgrade() {
        const sql = await connectDatabase(backing.databaseUrl, log);
        await record(sql, 'service.restore').finally(() => sql.end());
      },
      isUsed: hasWorkspaces,
      rebuilt: REBUILT_TABLES,
      transfer: createTransfer(objects),
      list: () => objects.list(''),
      isMark: (key) => key.startsWith(MARKS),
      ownerMark,
      progress: progressTo(log),
    });
    return { report };
  } finally {
    objects.close();
    await backing.stop();
  }
}
