// The servers behind the areas: the configured ones, and embedded ones in place of those that are not configured.

import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';
import { SettingsError } from '../core/settings-reader.ts';
import { postgresFolder } from '../database.ts';
import { isInUse, openDataFolder } from '../embedded/data-folder.ts';
import {
  type EmbeddedPostgres,
  hasCluster,
  readConnection,
  startPostgres,
} from '../embedded/postgres/index.ts';
import { readEmbeddedObjects, startEmbeddedObjects } from './store.ts';

/** The addresses of the servers. */
export type Backing = Awaited<ReturnType<typeof startBacking>>;

const RESTART_PAUSE_MS = 500;
/** A process's pools, its listener, the locks of its jobs, and a few that replace lost ones. */
const CONNECTIONS_PER_PROCESS = 40;
const CONNECTIONS_MIN = 100;

/**
 * Starts the embedded servers, and returns the addresses of all.
 * Throws one line when the data folder is in use or a server does not start.
 */
export async function startBacking(config: Config, log: Logger) {
  const embedsPostgres = config.databaseUrl === undefined;
  const embedsObjects = config.objects.external === undefined;
  // One of several processes leaves the folder to their owner.
  const embedsEvents = config.usage.nats === undefined && !config.server.sharesPort;
  const embeds = embedsPostgres || embedsObjects || embedsEvents;
  const folder = embeds ? openDataFolder(config.dataDir) : undefined;
  const stops: (() => void | Promise<void>)[] = [() => folder?.close()];
  const stop = async (): Promise<void> => {
    for (let end = stops.pop(); end !== undefined; end = stops.pop()) await end();
  };
  try {
    const [postgres, objects] = await Promise.all([
      embedsPostgres ? keepPostgres(config, log) : undefined,
      embedsObjects ? startEmbeddedObjects(config, log) : undefined,
    ]);
    if (objects !== undefined) stops.push(objects.close);
    const databaseUrl = config.databaseUrl ?? postgres?.url;
    const s3 = config.objects.external ?? objects?.settings;
    if (postgres !== undefined) stops.push(postgres.stop);
    if (databaseUrl === undefined || s3 === undefined)
      throw new Error('a backing service is neither set nor embedded');
    return { databaseUrl, s3, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Embedded Postgres, started again on the same port should it ever end by itself. */
async function keepPostgres(config: Config, log: Logger) {
  const connections = Math.max(CONNECTIONS_MIN, (config.processes + 1) * CONNECTIONS_PER_PROCESS);
  // It ends after a crash, and is started again here: where it starts again by itself, and its recovery fails as well (its disk
  // does not write), Postgres 18 waits for ever for a recovery that no process runs.
  const settings = {
    max_connections: String(connections),
    restart_after_crash: 'off',
  };
  const options = { directory: postgresFolder(config), log, settings };
  let running: EmbeddedPostgres = await startPostgres(options);
  const { url } = running;
  let stopping = false;
  const watch = (server: EmbeddedPostgres): void => {
    void server.exited.then(async (code) => {
      if (!stopping) log.error({ code }, 'the embedded Postgres ended by itself; it is started again');
      let logged = false;
      while (!stopping) {
        try {
          running = await startPostgres({ ...options, port: Number(new URL(url).port) });
          return watch(running);
        } catch (error) {
          // It is tried twice a second for as long as its disk fails: one line is enough, Postgres' own log has the rest.
          if (!logged) log.error({ err: error }, 'the embedded Postgres did not start; it is tried again');
          logged = true;
          await Bun.sleep(RESTART_PAUSE_MS);
        }
      }
    });
  };
  watch(running);
  return {
    url,
    stop: async () => {
      stopping = true;
      await running.stop();
    },
  };
}

/**
 * The servers behind the service for a command beside it: those that a running service embeds, or, where none runs, ones that
 * are started for as long as the command takes. Throws SettingsError where a folder without data is to be used.
 */
export async function openBacking(config: Config, log: Logger): Promise<Backing & { beside: boolean }> {
  const { dataDir, databaseUrl, objects } = config;
  const beside = { beside: true, stop: async () => undefined };
  if (databaseUrl !== undefined && objects.external !== undefined)
    return { databaseUrl, s3: objects.external, ...beside };
  if (isInUse(dataDir)) {
    const url = databaseUrl ?? readConnection(postgresFolder(config));
    const s3 = objects.external ?? readEmbeddedObjects(config, log);
    if (url !== undefined && s3 !== undefined) return { databaseUrl: url, s3, ...beside };
    throw new Error(`the service on ${dataDir} is starting or ending; try again`);
  }
  if (databaseUrl === undefined && !hasCluster(postgresFolder(config)))
    throw new SettingsError(
      `DATA_DIR: ${JSON.stringify(dataDir)} holds no database; set the folder that the service runs on`,
    );
  return { ...(await startBacking(config, log)), beside: false };
}
