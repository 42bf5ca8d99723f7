// `bun run admin backup`, `verify`, `restore` and `move`: the parts of the service that they need.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { openGate } from '../backup/gate.ts';
import { moveService } from '../backup/move.ts';
import { restoreBackup } from '../backup/restore.ts';
import { NICENESS, takeBackup } from '../backup/take.ts';
import { verifyBackup } from '../backup/verify.ts';
import { type Config, loadConfig, type S3Settings } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { lowerPriority } from '../core/priority.ts';
import { createProgress } from '../core/progress.ts';
import { SettingsError } from '../core/settings-reader.ts';
import { connectDatabase, MIGRATIONS } from '../database.ts';
import { readIdentity } from '../documents/index.ts';
import { MODEL_USAGE_PROJECTION } from '../gateway/index.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { readMigrations } from '../infra/postgres/migrate.ts';
import { createObjectStore } from '../infra/s3/client.ts';
import { createTransfer } from '../infra/s3/transfer.ts';
import { type Backing, openBacking, startBacking } from '../processes/backing.ts';
import { createUsage } from '../usage/index.ts';
import { type Context, type Done, recordMaintenance } from './maintenance.ts';

/** For events that were accepted before the backup, to be stored. */
const EVENTS_WAIT_MS = 30_000;

const progressTo = (log: Logger) => createProgress((sentence) => log.warn({}, sentence));

const folderOf = ({ body }: Context): string => resolve(String(body['folder']));

export async function backup(context: Context): Promise<Done> {
  lowerPriority(NICENESS);
  const { config, log } = context;
  await using opened = new AsyncDisposableStack();
  const backing = await openBacking(config, log);
  opened.defer(backing.stop);
  const sql = await openDatabase(opened, backing.databaseUrl, log);
  await recordMaintenance(sql, 'service.backup', 'service');
  const report = await takeBackup(folderOf(context), {
    sql,
    store: createTransfer(openObjects(opened, config, backing.s3)),
    embedded: config.databaseUrl === undefined,
    awaitEvents: () => awaitEvents(sql, context, backing.beside),
    progress: progressTo(log),
  });
  if (report.missing_objects === 0) return { report };
  const refusal = `the backup is complete, but the store has no object for ${report.missing_objects} documents; manifest.json lists their keys`;
  return { report, refusal };
}

export async function verify(context: Context): Promise<Done> {
  const { report, faults } = await verifyBackup(folderOf(context), progressTo(context.log));
  return faults.length === 0 ? { report } : { report, refusal: faults.join('; ') };
}

/** The data folder is locked, so that no service starts on it. */
export async function restore(context: Context): Promise<Done> {
  const { config, log } = context;
  await using opened = new AsyncDisposableStack();
  const { databaseUrl, s3, stop } = await startBacking(config, log);
  opened.defer(stop);
  const objects = openObjects(opened, config, s3);
  await objects.ensureBucket();
  const report = await restoreBackup(folderOf(context), {
    migrations: readMigrations(MIGRATIONS),
    connect: (until) => connectDatabase(databaseUrl, log, { until }),
    store: createTransfer(objects),
    progress: progressTo(log),
  });
  // Connecting upgrades the schema.
  await recordMaintenance(await openDatabase(opened, databaseUrl, log), 'service.restore', 'service');
  return { report };
}

export async function move(context: Context): Promise<Done> {
  const { config, log, body } = context;
  const next = readTarget(String(body['target']));
  for (const sentence of next.unknownSettings) log.warn({}, `--target: ${sentence}`);
  refuseSameDatabase(config, next);
  const sameStore = isSameStore(config, next);
  await using opened = new AsyncDisposableStack();
  const backing = await openBacking(config, log);
  opened.defer(backing.stop);
  const target = await openTarget(next, { backing, sameStore, log });
  opened.defer(target.stop);
  const source = await openDatabase(opened, backing.databaseUrl, log);
  const sql = await openDatabase(opened, target.databaseUrl, log);
  const objects = openObjects(opened, next, target.s3);
  if (!sameStore) await objects.ensureBucket();
  const report = await moveService({
    source: { sql: source, store: createTransfer(openObjects(opened, config, backing.s3)) },
    target: { sql, store: sameStore ? undefined : createTransfer(objects) },
    awaitEvents: () => awaitEvents(source, context, backing.beside),
    progress: progressTo(log),
  });
  await recordMaintenance(sql, 'service.move', 'service');
  return { report };
}

/** Opening the gate ends all sessions; the service opens new ones by itself. */
export async function cancelMove({ config, log }: Context): Promise<Done> {
  await using opened = new AsyncDisposableStack();
  const { databaseUrl, stop } = await openBacking(config, log);
  opened.defer(stop);
  await openGate(await openDatabase(opened, databaseUrl, log));
  const sql = await openDatabase(opened, databaseUrl, log);
  await recordMaintenance(sql, 'service.cancel-move', 'service');
  return { report: { read_only: false } };
}

/** Connected to until `opened` is disposed of; its schema is up to date. */
async function openDatabase(opened: AsyncDisposableStack, url: string, log: Logger): Promise<Sql> {
  return opened.adopt(await connectDatabase(url, log), (sql) => sql.end());
}

const openObjects = (opened: AsyncDisposableStack, { objects }: Config, s3: S3Settings) => {
  const { bucket, region, formProfile } = objects;
  return opened.adopt(createObjectStore({ ...s3, bucket, region, formProfile }), (store) => store.close());
};

/**
 * Waits until the accepted events are stored, if a service runs that does it; returns how many batches are not. Null where they wait
 * in a journal of another machine, or NATS is away.
 */
async function awaitEvents(sql: Sql, { config, log }: Context, runs: boolean): Promise<number | null> {
  const directory = join(config.dataDir, 'events');
  if (config.usage.nats === undefined && !existsSync(join(directory, 'journal.sqlite'))) return null;
  const { buffer, awaitStored } = await createUsage({
    sql,
    clock: systemClock,
    log,
    identity: () => readIdentity(sql),
    directory,
    settings: config.usage,
    projections: [MODEL_USAGE_PROJECTION],
  });
  await buffer.start();
  return await awaitStored(runs ? EVENTS_WAIT_MS : 0).finally(buffer.stop);
}

function readTarget(file: string): Config {
  let settings: Record<string, string | undefined>;
  try {
    settings = parseEnv(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new SettingsError(`--target: ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  return loadConfig(settings);
}

const isSameStore = (config: Config, next: Config): boolean =>
  config.objects.bucket === next.objects.bucket &&
  config.objects.external?.endpoint === next.objects.external?.endpoint &&
  (next.objects.external !== undefined || config.dataDir === next.dataDir);

function refuseSameDatabase(config: Config, next: Config): void {
  const isSame =
    config.databaseUrl === next.databaseUrl &&
    (next.databaseUrl !== undefined || config.dataDir === next.dataDir);
  if (isSame)
    throw new SettingsError(
      '--target: it names the database of the service; a move needs another one, which is empty',
    );
}

async function openTarget(
  next: Config,
  { backing, sameStore, log }: { backing: Backing; sameStore: boolean; log: Logger },
): Promise<Backing> {
  const { databaseUrl, objects } = next;
  const s3 = objects.external ?? (sameStore ? backing.s3 : undefined);
  if (databaseUrl !== undefined && s3 !== undefined) return { databaseUrl, s3, stop: async () => undefined };
  return await startBacking(next, log);
}
