// The parts of one seed put together: the service with what it stands on, all of it in a folder of its own, made from a
// template. Everything between the service and its servers passes a proxy.

import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConnection } from '../../../src/embedded/postgres/index.ts';
import { eventually, freePort } from '../../support/child.ts';
import { startNats } from '../../support/nats-server.ts';
import { startRealStore } from '../../support/object-stores.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { type BucketAccess, configuredBucket, embeddedBucket } from '../support/bucket.ts';
import { createSteppedClock, type SteppedClock } from './parts/clock.ts';
import { copyFolder, createSiteFolder, type SiteFolder } from './parts/folder.ts';
import { type ModelTimeouts, type ModelUpstream, writeModelsFile } from './parts/models.ts';
import type { Part } from './parts/part.ts';
import { survivorsOf } from './parts/processes.ts';
import { embeddedDatabase, restartable } from './parts/servers.ts';
import { createService, type ServicePart, SHUTDOWN_MS } from './parts/service.ts';
import type { PlannedParts } from './planned.ts';
import { retentionSeconds, SWEEP_SECONDS } from './sweeps.ts';

/** What the service stands on: its servers, and how they are reached. */
type Servers = {
  database: Part;
  /** Reaches the database itself, whatever its proxy does. */
  databaseUrl(): string;
  nats?: Part;
  store?: Part;
  bucket(): BucketAccess;
  links: { database?: TcpProxy; nats?: TcpProxy; store?: TcpProxy; models?: TcpProxy };
  /** The service's settings that name them. */
  environment: Record<string, string>;
};

export type Site = Pick<SiteFolder, 'dataDir' | 'smallDisk' | 'faultyDisk'> &
  Pick<Servers, 'databaseUrl' | 'bucket' | 'links'> & {
    url: string;
    parts: Pick<Servers, 'database' | 'nats' | 'store'> & {
      service: ServicePart;
      group: Part;
      process: Part;
    };
    /** The machine of the service is without power from one moment to the next; it may be started on what the disk has then. */
    cutPower(seed: number): Promise<void>;
    /** Absent where it is the machine's own. */
    clocks: { service?: SteppedClock | undefined; database?: SteppedClock | undefined };
    /** Ends the service, copies its folder and starts it again; what is returned kills it and starts it on the copy. */
    copy(): Promise<() => Promise<void>>;
    /** The upstream of models meets requests with the fault, until it is undefined. */
    strikeModels(fault: string | undefined): Promise<void>;
    /** Counts that something has struck. */
    note(what: string): void;
    struck: Map<string, number>;
    stop(): Promise<void>;
  };

export type SiteOptions = {
  template: string;
  upstream: ModelUpstream;
  /** The service's; a free one where absent. */
  port?: number;
  /** More of the service's settings. */
  environment?: Record<string, string>;
  /** Where a server keeps its data; a folder of its own where absent. */
  folders?: Partial<Record<'database' | 'nats' | 'store', string>>;
  /** How long models are waited for. */
  modelTimeoutsMs?: ModelTimeouts;
};

export async function startSite(planned: PlannedParts, options: SiteOptions): Promise<Site> {
  const { template, upstream, port = freePort(), environment = {}, folders = {} } = options;
  await using begun = new AsyncDisposableStack();
  const folder = begun.use(createSiteFolder(planned.disk, template));
  const databaseClock = planned.steppedDatabaseClock ? begun.use(createSteppedClock()) : undefined;
  const servers = await startServers(planned, { folder, folders, databaseClock, begun });
  const models = begun.use(await startTcpProxy(upstream.url));
  servers.links.models = models;
  const modelsFolder = mkdtempSync(join(tmpdir(), 'models-'));
  begun.defer(() => rmSync(modelsFolder, { recursive: true, force: true }));
  const modelsFile = join(modelsFolder, 'models.json');
  const modelsKey = crypto.randomUUID();
  const { modelTimeoutsMs: timeoutsMs } = options;
  writeModelsFile(modelsFile, {
    url: new URL(models.url).origin,
    key: modelsKey,
    ...(timeoutsMs === undefined ? {} : { timeoutsMs }),
  });
  const clock = planned.steppedClock ? begun.use(createSteppedClock()) : undefined;
  if (planned.disk === 'faulty') await folder.mount(folder.root);
  const settings = {
    ...settingsOf(planned, { port, modelsFile }),
    ...servers.environment,
    ...clock?.environment,
    ...environment,
  };
  const service = createService(() => ({ ...settings, DATA_DIR: folder.dataDir() }));
  begun.defer(service.abandon);
  await service.start();
  const kept = begun.move();
  const struck = new Map<string, number>();
  const note = (what: string): void => void struck.set(what, (struck.get(what) ?? 0) + 1);
  const { database, databaseUrl, nats, store, bucket, links } = servers;
  /** It does nothing where the database is a server elsewhere. */
  const embedded = embeddedDatabase(folder.dataDir);
  const onFolder = { service, embedded, note };
  return {
    databaseUrl,
    bucket,
    links,
    struck,
    note,
    url: `http://127.0.0.1:${port}`,
    dataDir: folder.dataDir,
    smallDisk: folder.smallDisk,
    faultyDisk: folder.faultyDisk,
    parts: {
      database,
      service,
      group: service.group,
      process: service.process,
      ...(nats === undefined ? {} : { nats }),
      ...(store === undefined ? {} : { store }),
    },
    strikeModels: (fault) => upstream.strike(modelsKey, fault),
    clocks: { service: clock, database: databaseClock },
    cutPower: powerCuts(folder, onFolder),
    copy: () => copyOf(folder, onFolder),
    stop: () => kept.disposeAsync(),
  };
}

type SettingsOptions = { port: number; modelsFile: string };

const settingsOf = (planned: PlannedParts, { port, modelsFile }: SettingsOptions) => ({
  PORT: `${port}`,
  PROCESSES: `${planned.processes}`,
  ...(planned.store === 'embedded' ? { OBJECT_STORE_PORT: `${freePort()}` } : {}),
  BOOTSTRAP_WORKSPACE: WORKSPACE,
  BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
  NODE_ENV: 'production',
  LOG_FORMAT: 'json',
  COMPUTE_THREADS: '1',
  UPLOAD_RETENTION_SECONDS: `${retentionSeconds(planned)}`,
  SWEEP_INTERVAL_SECONDS: `${SWEEP_SECONDS}`,
  SHUTDOWN_TIMEOUT_MS: `${SHUTDOWN_MS}`,
  MODELS_CONFIG: modelsFile,
});

type ServersOptions = {
  folder: SiteFolder;
  folders: NonNullable<SiteOptions['folders']>;
  databaseClock: SteppedClock | undefined;
  begun: AsyncDisposableStack;
};

async function startServers(
  planned: PlannedParts,
  { folder: { dataDir }, folders, databaseClock, begun }: ServersOptions,
): Promise<Servers> {
  const links: Servers['links'] = {};
  const environment: Servers['environment'] = {};
  const linkTo = async (name: keyof Servers['links'], target: string): Promise<string> => {
    const proxy = begun.use(await startTcpProxy(target));
    links[name] = proxy;
    return proxy.url;
  };
  const servers: Servers = {
    links,
    environment,
    database: embeddedDatabase(dataDir),
    databaseUrl: () => readConnection(join(dataDir(), 'postgres')) ?? '',
    bucket: () => embeddedBucket(dataDir()),
  };
  if (planned.database === 'server') {
    const directory = folders.database ?? mkdtempSync(join(tmpdir(), 'database-'));
    begun.defer(() => rmSync(directory, { recursive: true, force: true }));
    copyFolder(join(dataDir(), 'postgres'), join(directory, 'postgres'));
    rmSync(join(dataDir(), 'postgres'), { recursive: true });
    const { environment: clock = {} } = databaseClock ?? {};
    const server = await startPostgresServer({ directory: join(directory, 'postgres'), environment: clock });
    begun.defer(server.stop);
    servers.database = restartable(server);
    servers.databaseUrl = () => server.url;
    environment['DATABASE_URL'] = await linkTo('database', server.url);
  }
  if (planned.buffer === 'nats') {
    const nats = begun.use(await startNats(folders.nats === undefined ? {} : { store: folders.nats }));
    servers.nats = restartable(nats);
    environment['NATS_URL'] = await linkTo('nats', nats.url);
    environment['NATS_MONITOR_URL'] = nats.monitorUrl;
  }
  if (planned.store !== 'embedded') {
    const store = await startRealStore(planned.store, folders.store);
    begun.defer(store.stop);
    servers.store = restartable(store);
    servers.bucket = () => configuredBucket(store.environment);
    const reached = new URL(await linkTo('store', store.environment['S3_ENDPOINT'] ?? '')).origin;
    Object.assign(environment, store.environment, { S3_ENDPOINT: reached });
  }
  return servers;
}

type OnFolder = { service: ServicePart; embedded: Part; note: Site['note'] };

/** One loss of power after the other. */
function powerCuts(folder: SiteFolder, { service, embedded }: OnFolder): Site['cutPower'] {
  let last = Promise.resolve();
  return (seed) => {
    last = last.then(async () => {
      embedded.pause();
      const frozen = await service.freeze(folder.dataDir());
      const survivor = await folder.faultyDisk()?.survivor(seed);
      await embedded.kill();
      frozen.kill();
      await folder.mount(survivor ?? folder.root);
      frozen.release();
    });
    return last;
  };
}

async function copyOf(
  { root, dataDir }: SiteFolder,
  { service, embedded, note }: OnFolder,
): Promise<() => Promise<void>> {
  const kept = join(root, 'copy');
  await service.end();
  copyFolder(dataDir(), kept);
  await service.start();
  return async () => {
    await service.group.kill();
    await embedded.kill();
    // The server's last act is to write into the folder by its name.
    await eventually('the folder to be left', () => survivorsOf(dataDir()).length === 0);
    renameSync(dataDir(), join(root, 'newer'));
    renameSync(kept, dataDir());
    await service.start();
    note('older copy of the folder');
  };
}
