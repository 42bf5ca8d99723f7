// The parts of one seed: the service with what it stands on, all of it in a folder of its own, made from a template. Each can be
// killed, paused and started again, and everything between the service and its servers passes a proxy.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConnection } from '../../../src/embedded/postgres/index.ts';
import { type Child, eventually, freePort, startChild } from '../../support/child.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../../support/faulty-disk.ts';
import { missingNats, startNats } from '../../support/nats-server.ts';
import { missingStore, startRealStore } from '../../support/object-stores.ts';
import { signalPostgres, startPostgresServer } from '../../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../../support/service.ts';
import { mountDisk, type SmallDisk } from '../../support/small-disk.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { type BucketAccess, configuredBucket, embeddedBucket } from '../support/bucket.ts';
import type { Available, PlannedParts } from './planned.ts';

/** Age at which uploads that were not confirmed are swept, and so the longest time until the bucket is tidy. */
export const RETENTION_SECONDS = 3;
/**
 * The embedded store has the service's clock: where that is stepped, uploads would be old in the middle of a confirm. The
 * retention has to be longer than any step, and nothing is swept within a seed.
 */
const LONG_RETENTION_SECONDS = 600;

export const sweepsWithinSeed = ({
  store,
  steppedClock,
}: Pick<PlannedParts, 'store' | 'steppedClock'>): boolean => !(steppedClock && store === 'embedded');

const SHUTDOWN_MS = 8000;
const READY_MS = 40_000;
const STANDSTILL_MS = 50;

export type Part = {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Lets it run again, if it does not. */
  start(): Promise<void>;
  /** It hangs, until what is returned is called. */
  pause(): () => void;
};

export type Site = {
  url: string;
  /** Another one after each loss of power. */
  dataDir(): string;
  parts: { service: ServicePart; group: Part; process: Part; database: Part; nats?: Part; store?: Part };
  links: { database?: TcpProxy; nats?: TcpProxy; store?: TcpProxy };
  smallDisk: SmallDisk | undefined;
  faultyDisk(): FaultyDisk | undefined;
  /** The machine of the service is without power from one moment to the next; it may be started on what the disk has then. */
  cutPower(seed: number): Promise<void>;
  /** Seconds that the service's clock is ahead; nothing where it has the machine's own. */
  setClock(seconds: number): void;
  /** Ends the service, copies its folder and starts it again; what is returned kills it and starts it on the copy. */
  copy(): Promise<() => Promise<void>>;
  bucket(): BucketAccess;
  /** Reaches the database itself, whatever its proxy does. */
  databaseUrl(): string;
  /** Counts that something has struck. */
  note(what: string): void;
  struck: Map<string, number>;
  stop(): Promise<void>;
};

const MAIN = join(import.meta.dir, '../../../src/main.ts');
/** Debian's `libfaketime`: with its library loaded, a process is told another time. */
const FAKETIME = [...new Bun.Glob('/usr/lib/*/faketime/libfaketimeMT.so.1').scanSync('/')][0];

/** What this machine has; CI requires all but the disk, which only root may mount. */
export function findAvailable(): Available {
  if (FAKETIME === undefined && process.env['REQUIRE_SERVERS'] === '1')
    throw new Error('libfaketime is required, but not installed: apt-get install libfaketime');
  const disk = mountDisk('1m');
  disk?.remove();
  return {
    nats: missingNats() === undefined,
    minio: missingStore('minio') === undefined,
    versitygw: missingStore('versitygw') === undefined,
    smallDisk: disk !== undefined,
    faultyDisk: missingFaultyDisk() === undefined,
    clock: FAKETIME !== undefined,
  };
}

/** A data folder with the schema, the bootstrap's workspace and an empty bucket, of a service that has ended. */
export async function makeTemplate(folder: string): Promise<string> {
  const dataDir = join(folder, 'template');
  mkdirSync(dataDir, { mode: 0o700 });
  const service = await startService({ dataDir });
  await service.child.stop();
  return dataDir;
}

/** Shared memory of processes that were killed, named after them. */
function removeFaketimeLeftovers(): void {
  for (const name of readdirSync('/dev/shm')) {
    const pid = /^(?:sem\.faketime_sem|faketime_shm)_(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join('/dev/shm', name), { force: true });
  }
}

const copyFolder = (from: string, to: string): void => {
  const copied = Bun.spawnSync(['cp', '-a', from, to]);
  if (!copied.success) throw new Error(`cp: ${copied.stderr}`);
};

type Options = { template: string; modelsFile: string };

export async function startSite(planned: PlannedParts, { template, modelsFile }: Options): Promise<Site> {
  await using begun = new AsyncDisposableStack();
  const smallDisk = planned.disk === 'small' ? mountDisk('400m') : undefined;
  const root = smallDisk?.path ?? mkdtempSync(join(tmpdir(), 'site-'));
  begun.defer(() =>
    smallDisk === undefined ? rmSync(root, { recursive: true, force: true }) : smallDisk.remove(),
  );
  let dataDir = join(root, 'data');
  copyFolder(template, dataDir);
  const struck = new Map<string, number>();
  const links: Site['links'] = {};
  const linkTo = async (name: keyof Site['links'], target: string): Promise<string> => {
    const proxy = begun.use(await startTcpProxy(target));
    links[name] = proxy;
    return proxy.url;
  };
  const port = freePort();
  const environment: Record<string, string> = {
    PORT: `${port}`,
    DATA_DIR: dataDir,
    PROCESSES: `${planned.processes}`,
    ...(planned.store === 'embedded' ? { OBJECT_STORE_PORT: `${freePort()}` } : {}),
    BOOTSTRAP_WORKSPACE: WORKSPACE,
    BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
    NODE_ENV: 'production',
    LOG_FORMAT: 'json',
    COMPUTE_THREADS: '1',
    UPLOAD_RETENTION_SECONDS: `${sweepsWithinSeed(planned) ? RETENTION_SECONDS : LONG_RETENTION_SECONDS}`,
    SWEEP_INTERVAL_SECONDS: '1',
    SHUTDOWN_TIMEOUT_MS: `${SHUTDOWN_MS}`,
    MODELS_CONFIG: modelsFile,
  };
  const embedded = embeddedDatabase(() => dataDir);
  const parts: Omit<Site['parts'], 'service' | 'group' | 'process'> = { database: embedded };
  let databaseUrl = () => readConnection(join(dataDir, 'postgres')) ?? '';
  if (planned.database === 'server') {
    const directory = mkdtempSync(join(tmpdir(), 'database-'));
    begun.defer(() => rmSync(directory, { recursive: true, force: true }));
    copyFolder(join(dataDir, 'postgres'), join(directory, 'postgres'));
    rmSync(join(dataDir, 'postgres'), { recursive: true });
    const server = await startPostgresServer({ directory: join(directory, 'postgres') });
    begun.defer(server.stop);
    parts.database = restartable(server);
    databaseUrl = () => server.url;
    environment['DATABASE_URL'] = await linkTo('database', server.url);
  }
  if (planned.buffer === 'nats') {
    const nats = begun.use(await startNats());
    parts.nats = restartable(nats);
    environment['NATS_URL'] = await linkTo('nats', nats.url);
    environment['NATS_MONITOR_URL'] = nats.monitorUrl;
  }
  let bucket = () => embeddedBucket(dataDir);
  if (planned.store !== 'embedded') {
    const store = await startRealStore(planned.store);
    begun.defer(store.stop);
    parts.store = restartable(store);
    const reached = { ...store.environment };
    bucket = () => configuredBucket(store.environment);
    reached['S3_ENDPOINT'] = new URL(await linkTo('store', store.environment['S3_ENDPOINT'] ?? '')).origin;
    Object.assign(environment, reached);
  }
  // Apart from what may be full.
  const clockFolder = mkdtempSync(join(tmpdir(), 'clock-'));
  begun.defer(() => rmSync(clockFolder, { recursive: true, force: true }));
  const clock = join(clockFolder, 'ahead');
  const setClock = (seconds: number): void => {
    // Renamed into place, so that no process reads half of it.
    writeFileSync(`${clock}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    renameSync(`${clock}.new`, clock);
  };
  if (planned.steppedClock) {
    setClock(0);
    begun.defer(removeFaketimeLeftovers);
    Object.assign(environment, {
      LD_PRELOAD: FAKETIME ?? '',
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    });
  }
  let faultyDisk: FaultyDisk | undefined;
  begun.defer(async () => faultyDisk?.[Symbol.asyncDispose]());
  const mount = async (from: string): Promise<void> => {
    const mounted = await mountFaultyDisk({ from });
    const before = faultyDisk;
    faultyDisk = mounted;
    await before?.[Symbol.asyncDispose]();
    dataDir = join(mounted.path, 'data');
    environment['DATA_DIR'] = dataDir;
  };
  if (planned.disk === 'faulty') await mount(root);
  const service = createService(environment);
  /** One loss of power after the other. */
  let powerless = Promise.resolve();
  begun.defer(service.abandon);
  await service.start();
  const kept = begun.move();
  const site: Site = {
    url: `http://127.0.0.1:${port}`,
    dataDir: () => dataDir,
    parts: { ...parts, service, group: service.group, process: service.process },
    links,
    smallDisk,
    faultyDisk: () => faultyDisk,
    cutPower(seed) {
      powerless = powerless.then(async () => {
        embedded.pause();
        const frozen = await service.freeze(dataDir);
        const survivor = await faultyDisk?.survivor(seed);
        await embedded.kill();
        frozen.kill();
        await mount(survivor ?? root);
        frozen.release();
      });
      return powerless;
    },
    setClock,
    async copy() {
      const kept = join(root, 'copy');
      await service.end();
      copyFolder(dataDir, kept);
      await service.start();
      return async () => {
        await service.group.kill();
        await embedded.kill();
        // The server's last act is to write into the folder by its name.
        await eventually('the folder to be left', () => survivorsOf(dataDir).length === 0);
        renameSync(dataDir, join(root, 'newer'));
        renameSync(kept, dataDir);
        await service.start();
        site.note('older copy of the folder');
      };
    },
    bucket,
    databaseUrl,
    struck,
    note: (what) => void struck.set(what, (struck.get(what) ?? 0) + 1),
    stop: () => kept.disposeAsync(),
  };
  return site;
}

/** A server that is killed once, however many faults strike it, and started once. */
function restartable(server: {
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
}): Part {
  let running = true;
  let last: Promise<void> = Promise.resolve();
  const next = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work);
    return last;
  };
  return {
    kill: () =>
      next(async () => {
        if (running) await server.kill();
        running = false;
      }),
    start: () =>
      next(async () => {
        if (!running) await server.start();
        running = true;
      }),
    pause() {
      if (running) server.pause();
      return () => {
        if (running) server.resume();
      };
    },
  };
}

/** The service starts it again by itself. */
function embeddedDatabase(dataDir: () => string): Part {
  const signal = (name: NodeJS.Signals): void => {
    const directory = join(dataDir(), 'postgres');
    // Between its end and its next start there is none; after a loss of power the file that names it may be torn.
    if (readConnection(directory) !== undefined) signalPostgres(directory, name);
  };
  return {
    kill: async () => signal('SIGKILL'),
    start: async () => undefined,
    pause() {
      signal('SIGSTOP');
      return () => signal('SIGCONT');
    },
  };
}

export type ServicePart = Part & {
  /** SIGTERM; resolves with the exit code. */
  end(): Promise<number | undefined>;
  /** Everything that runs on the folder stands still until `kill`, and nothing is started until `release`. */
  freeze(dataDir: string): Promise<{ kill(): void; release(): void }>;
  /** All of it at once, like a machine that stops; the embedded database as well. */
  group: Part;
  /** One process of several. */
  process: Part;
  /** What every start has written. */
  output(): string;
  /** The last output of processes that ended after they had served, although no fault had killed them. */
  endedByItself: string[];
  abandon(): Promise<void>;
};

function createService(environment: Record<string, string>): ServicePart {
  let child: Child | undefined;
  let earlier = '';
  let wanted = false;
  /** Settled unless the machine has no power. */
  let held: Promise<void> = Promise.resolve();
  let starting: Promise<void> | undefined;
  const endedByItself: string[] = [];

  /** As a service manager does it: again, until it serves or is not wanted any more. */
  const launch = async (): Promise<void> => {
    const until = performance.now() + READY_MS;
    while (wanted) {
      if (performance.now() > until) throw new Error(`the service does not start: ${earlier.slice(-1500)}`);
      const started = startChild([process.execPath, MAIN], { detached: true, environment });
      child = started;
      let exited = false;
      void started.exited.then((code) => {
        exited = true;
        earlier += started.output();
        if (!wanted || child !== started) return;
        child = undefined;
        if (hasServed(started)) {
          endedByItself.push(`code ${code}: ${started.output().slice(-1500)}`);
          void begin().catch((error: Error) => endedByItself.push(error.message));
        }
      });
      await eventually('the service to serve', () => exited || hasServed(started), READY_MS);
      if (!exited) return;
      await Bun.sleep(200);
    }
  };
  const begin = (): Promise<void> => {
    starting ??= launch().finally(() => {
      starting = undefined;
    });
    return starting;
  };
  const gone = async (how: (running: Child) => void): Promise<number | undefined> => {
    wanted = false;
    const running = child;
    child = undefined;
    if (running === undefined) return undefined;
    how(running);
    const code = await running.exited;
    // The next start ends what is left of the group.
    return code;
  };
  const killOwner = (running: Child): void => signalProcess(running.pid, 'SIGKILL');
  const start = async (): Promise<void> => {
    await held;
    wanted = true;
    if (child === undefined) await begin();
  };
  const pause = (pids: () => number[]) => (): (() => void) => {
    const paused = pids();
    for (const pid of paused) signalProcess(pid, 'SIGSTOP');
    return () => {
      for (const pid of paused) signalProcess(pid, 'SIGCONT');
    };
  };
  const ownPid = (): number[] => (child === undefined ? [] : [child.pid]);
  const onePid = (): number[] => ownPid().flatMap(childrenOf).slice(0, 1);
  return {
    kill: async () => void (await gone(killOwner)),
    start,
    pause: pause(ownPid),
    end: () =>
      gone((running) => {
        signalProcess(running.pid, 'SIGCONT');
        signalProcess(running.pid, 'SIGTERM');
        const late = setTimeout(() => running.kill('SIGKILL'), SHUTDOWN_MS * 2);
        void running.exited.then(() => clearTimeout(late));
      }),
    async freeze(dataDir) {
      const { promise, resolve: release } = Promise.withResolvers<void>();
      held = promise;
      wanted = false;
      child = undefined;
      const pids = runningOn(dataDir);
      for (const pid of pids) signalProcess(pid, 'SIGSTOP');
      // Threads that were in a call finish it.
      await Bun.sleep(STANDSTILL_MS);
      const kill = (): void => {
        for (const pid of pids) signalProcess(pid, 'SIGKILL');
      };
      return { kill, release };
    },
    group: {
      kill: async () => void (await gone((running) => running.kill('SIGKILL'))),
      start,
      pause: pause(ownPid),
    },
    process: {
      kill: async () => onePid().forEach((pid) => void signalProcess(pid, 'SIGKILL')),
      start: async () => undefined,
      pause: pause(onePid),
    },
    output: () => earlier + (child?.output() ?? ''),
    endedByItself,
    abandon: async () => void (await gone((running) => running.kill('SIGKILL'))),
  };
}

const hasServed = (child: Child): boolean => child.output().includes('listens on');

/** The serving processes of an owner. */
function childrenOf(owner: number): number[] {
  const listed = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', `${owner}`]).stdout.toString();
  return listed
    .split('\n')
    .filter((line) => line.includes('main.ts'))
    .map((line) => Number.parseInt(line, 10));
}

/** A process that has ended meanwhile needs no signal. */
function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** Processes with the folder in their command line or as their DATA_DIR. */
function runningOn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(
      (pid) =>
        readOf(pid, 'cmdline').includes(folder) || readOf(pid, 'environ').includes(`DATA_DIR=${folder}\0`),
    )
    .map(Number);
}

const readOf = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    // It has ended.
    return '';
  }
};

/** Command lines of what still runs on the folder. */
export const survivorsOf = (folder: string): string[] =>
  runningOn(folder).map((pid) => readOf(`${pid}`, 'cmdline').replaceAll('\0', ' ').slice(0, 200));
