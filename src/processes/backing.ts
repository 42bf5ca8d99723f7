// The servers behind the areas: those that are configured, and embedded ones where none is.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, S3Settings } from '../config.ts';
import { replaceFile } from '../core/durable.ts';
import { randomBase62 } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { isLoopback, toOrigin } from '../core/origin.ts';
import { SettingsError } from '../core/settings-reader.ts';
import { postgresFolder } from '../database.ts';
import { isInUse, openDataFolder } from '../embedded/data-folder.ts';
import { startObjectStore } from '../embedded/object-store/index.ts';
import {
  type EmbeddedPostgres,
  hasCluster,
  readConnection,
  startPostgres,
} from '../embedded/postgres/index.ts';

export type Backing = { databaseUrl: string; s3: S3Settings; stop(): Promise<void> };

/** Where the embedded store is, or would be. */
export const objectStoreFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string =>
  join(dataDir, 'object-store');

/** Of the embedded store. */
const ACCESS_KEY_ID = 'atrium';
const RESTART_PAUSE_MS = 500;
/** A process's pools, its listener, the locks of its jobs, and a few that replace lost ones. */
const CONNECTIONS_PER_PROCESS = 40;
const CONNECTIONS_MIN = 100;

/**
 * Starts the embedded servers, and returns the addresses of all.
 * Throws one line when the data folder is in use or a server does not start.
 */
export async function startBacking(config: Config, log: Logger): Promise<Backing> {
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
    if (postgres !== undefined) stops.push(postgres.stop);
    if (objects !== undefined) stops.push(objects.close);
    const databaseUrl = config.databaseUrl ?? postgres?.url;
    const s3 = config.objects.external ?? objects?.settings;
    if (databaseUrl === undefined || s3 === undefined)
      throw new Error('a backing service is neither set nor embedded');
    return { databaseUrl, s3, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Embedded Postgres, started again on the same port should it ever end by itself. */
async function keepPostgres(config: Config, log: Logger): Promise<{ url: string; stop(): Promise<void> }> {
  const connections = Math.max(CONNECTIONS_MIN, (config.processes + 1) * CONNECTIONS_PER_PROCESS);
  // It ends after a crash, and is started again here: where it starts again by itself, and its recovery fails as well (its disk
  // does not write), Postgres 18 waits for ever for a recovery that nobody runs.
  const settings = { max_connections: String(connections), restart_after_crash: 'off' };
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

/** The address and the keys of the store that a running service embeds. */
function readEmbeddedObjects(config: Config, log: Logger): S3Settings | undefined {
  const identity = readIdentity(`${objectStoreFolder(config)}.json`, log);
  if (identity === undefined) return undefined;
  const endpoint = toOrigin(config.server.host, identity.port);
  const { secretAccessKey } = identity;
  return { endpoint, publicEndpoint: endpoint, accessKeyId: ACCESS_KEY_ID, secretAccessKey };
}

async function startEmbeddedObjects(
  config: Config,
  log: Logger,
): Promise<{ settings: S3Settings; close(): Promise<void> }> {
  const directory = objectStoreFolder(config);
  const identity = readIdentity(`${directory}.json`, log) ?? { secretAccessKey: randomBase62(30), port: 0 };
  const options = {
    directory,
    host: config.server.host,
    region: config.objects.region,
    bucket: config.objects.bucket,
    accessKeyId: ACCESS_KEY_ID,
    secretAccessKey: identity.secretAccessKey,
    corsOrigins: config.server.corsOrigins,
    retentionSeconds: config.documents.uploadRetentionSeconds,
  };
  const fixedPort = config.objects.embeddedPort;
  const store =
    fixedPort > 0 || identity.port === 0
      ? await startObjectStore({ ...options, port: fixedPort }, log)
      : // URLs that were signed before a restart go on working, unless another program has the port by now.
        await startObjectStore({ ...options, port: identity.port }, log).catch(() =>
          startObjectStore({ ...options, port: 0 }, log),
        );
  const port = Number(new URL(store.endpoint).port);
  writeIdentity(`${directory}.json`, { ...identity, port });
  const { endpoint } = store;
  if (config.objects.publicEndpoint === undefined && !isLoopback(options.host))
    log.warn(
      { endpoint },
      'signed URLs name this machine as it sees itself; set S3_PUBLIC_ENDPOINT for other clients',
    );
  return {
    settings: {
      endpoint,
      publicEndpoint: config.objects.publicEndpoint ?? endpoint,
      accessKeyId: options.accessKeyId,
      secretAccessKey: options.secretAccessKey,
    },
    close: store.close,
  };
}

/** It must stay the same from start to start: signed URLs depend on both. */
type StoreIdentity = { secretAccessKey: string; port: number };

/** Undefined at the first start, and for a file that is damaged: then only the URLs that were given out are lost. */
function readIdentity(file: string, log: Logger): StoreIdentity | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const held = JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<string, unknown>> | null;
    const { secretAccessKey, port } = held ?? {};
    if (typeof secretAccessKey === 'string' && typeof port === 'number') return { secretAccessKey, port };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  log.warn({ file }, 'the file is damaged: URLs that were signed before this start are refused');
  return undefined;
}

function writeIdentity(file: string, identity: StoreIdentity): void {
  replaceFile(file, JSON.stringify(identity));
}
