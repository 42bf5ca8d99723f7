// `bun run admin move`: from the servers of one environment to those of another.

import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { hasWorkspaces } from '../access/index.ts';
import { moveService, openGate } from '../backup/index.ts';
import { type Config, loadConfig } from '../config.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { SettingsError } from '../core/settings-reader.ts';
import { connectDatabase } from '../database.ts';
import { BACKUP_LOCK, OBJECT_KEYS, REBUILT_TABLES, readIdentity } from '../documents/index.ts';
import { createTransfer } from '../infra/s3/transfer.ts';
import { type Backing, openBacking, startBacking } from '../processes/backing.ts';
import { awaitEvents, type Context, type Done, EVENTS_WAIT_MS, openObjects, progressTo } from './backup.ts';

export async function move(file: string, { config, log, record }: Context): Promise<Done> {
  const next = readTarget(file);
  for (const sentence of next.unknownSettings) log.warn({}, `--target: ${sentence}`);
  const sameStore = isSameStore(config, next);
  refuseSameDatabase(config, next);
  const backing = await openBacking(config, log);
  const target = await openTarget(next, { backing, sameStore, log });
  const [from, to] = [openObjects(config, backing.s3), openObjects(next, target.s3)];
  try {
    const source = await connectDatabase(backing.databaseUrl, log);
    const sql = await connectDatabase(target.databaseUrl, log);
    const transfer = createTransfer(to);
    if (!sameStore) await to.ensureBucket();
    try {
      const report = await moveService({
        source: { sql: source, objects: createTransfer(from) },
        target: {
          sql,
          objects: sameStore ? undefined : { put: transfer.put, list: () => to.list('') },
        },
        lock: BACKUP_LOCK,
        objectKeys: OBJECT_KEYS,
        rebuilt: REBUILT_TABLES,
        isUsed: hasWorkspaces,
        identity: readIdentity,
        awaitEvents: () =>
          awaitEvents(source, { config, log, timeoutMs: backing.beside ? EVENTS_WAIT_MS : 0 }),
        progress: progressTo(log),
      });
      await record(sql, 'service.move');
      return { report };
    } finally {
      await Promise.all([source.end(), sql.end()]);
    }
  } finally {
    from.close();
    to.close();
    await target.stop();
    await backing.stop();
  }
}

/** Sessions are ended by it: the service opens new ones by itself. */
export async function cancelMove(_: string, { config, log, record }: Context): Promise<Done> {
  const backing = await openBacking(config, log);
  try {
    const sql = await connectDatabase(backing.databaseUrl, log);
    await openGate(sql).finally(() => sql.end());
    const again = await connectDatabase(backing.databaseUrl, log);
    await record(again, 'service.cancel-move').finally(() => again.end());
    return { report: { read_only: false } };
  } finally {
    await backing.stop();
  }
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
