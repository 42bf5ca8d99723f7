// A real nats-server for a test: a child process with a folder of its own, on loopback.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, freePort, startChild } from './child.ts';
import { findServer } from './servers.ts';
import { startTcpProxy } from './tcp-proxy.ts';

export type NatsServer = AsyncDisposable & {
  /** With the user and the password, where it asks for them. */
  url: string;
  monitorUrl: string;
  /** It hangs until `resume`: connections stay open, nobody answers. */
  pause(): void;
  resume(): void;
  /** With SIGTERM it takes its leave of the others. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it again, with the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** Where Debian's package puts the old one. */
const OLD_NATS_SERVER = '/usr/sbin/nats-server';

const required = process.env['REQUIRE_SERVERS'] === '1';

/** The new one; an old one that stands on the PATH is none. */
function findNats(): string | undefined {
  const found = findServer('nats-server');
  return found === OLD_NATS_SERVER ? undefined : found;
}

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingNats(): string | undefined {
  if (findNats() !== undefined) return undefined;
  if (required) throw new Error('nats-server is required, but not installed: bun run servers');
  return 'needs nats-server: bun run servers';
}

/** The binary of a server that is too old; undefined where none is installed. CI requires it. */
export function findOldNats(): string | undefined {
  const found =
    existsSync(OLD_NATS_SERVER) && Bun.spawnSync([OLD_NATS_SERVER, '--version']).stdout.includes(' v2.9.');
  if (found) return OLD_NATS_SERVER;
  if (required)
    throw new Error(`nats-server 2.9 is required at ${OLD_NATS_SERVER}: apt-get install nats-server`);
  return undefined;
}

export type NatsServerOptions = {
  binary?: string;
  /** Whether it syncs before it acknowledges. */
  syncs?: boolean;
  jetstream?: boolean;
  monitored?: boolean;
  credentials?: { user: string; password: string };
  /** Where it keeps its data; default: a folder of its own. */
  store?: string;
  /** More of its configuration. */
  configuration?: string;
};

export async function startNats(options: NatsServerOptions = {}): Promise<NatsServer> {
  const binary = options.binary ?? findNats();
  if (binary === undefined) throw new Error('nats-server is not installed: bun run servers');
  const folder = mkdtempSync(join(tmpdir(), 'atrium-nats-'));
  const [port, monitorPort] = [freePort(), freePort()];
  const sync = options.syncs === false ? '' : ', sync_interval: always';
  const { credentials, configuration = '', store = join(folder, 'store') } = options;
  const lines = [
    `listen: 127.0.0.1:${port}`,
    ...(options.monitored === false ? [] : [`http: 127.0.0.1:${monitorPort}`]),
    ...(options.jetstream === false ? [] : [`jetstream { store_dir: "${store}"${sync} }`]),
    configuration,
  ];
  writeFileSync(join(folder, 'nats.conf'), lines.join('\n'));
  let child: Child | undefined;
  const start = async (): Promise<void> => {
    const started = startChild([binary, '-c', join(folder, 'nats.conf')]);
    child = started;
    let exited = false;
    void started.exited.then(() => {
      exited = true;
    });
    await eventually('nats-server to listen', () => {
      if (exited) throw new Error(`nats-server ended: ${started.output()}`);
      return started.output().includes('Server is ready');
    });
  };
  const stop = async (): Promise<void> => {
    await child?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `nats://${credentials === undefined ? '' : `${credentials.user}:${credentials.password}@`}127.0.0.1:${port}`,
    monitorUrl: `http://127.0.0.1:${monitorPort}`,
    start,
    stop,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    async kill(signal = 'SIGKILL') {
      child?.kill(signal);
      await child?.exited;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Three servers that keep three copies: any one of them may be away. */
export type NatsCluster = AsyncDisposable & {
  /** Of all servers, comma-separated; by way of proxies where it can be parted. */
  url: string;
  servers: readonly NatsServer[];
  stop(): Promise<void>;
};

export async function startNatsCluster(): Promise<NatsCluster> {
  const ports = [freePort(), freePort(), freePort()];
  const routes = ports.map(toRoute).join(', ');
  const servers = await startServers(
    ports.map((port) => `cluster { name: test, listen: "127.0.0.1:${port}", routes: [${routes}] }`),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  return { url: servers.map(({ url }) => url).join(','), servers, stop, [Symbol.asyncDispose]: stop };
}

/** A cluster whose network can be parted. */
export type PartableCluster = NatsCluster & {
  /** Of the account of the system, whose users may make the leader of the metadata step down. */
  system: { user: string; pass: string };
  /**
   * From here on nothing arrives at the server from the others, or at them from it, and neither side is told; with
   * `clients`, nothing of its clients either.
   */
  part(index: number, options: { clients: boolean }): void;
  heal(): void;
  /** The servers that have clients which came by `url`. */
  inUse(): number[];
};

const SYSTEM = { user: 'system', pass: 'system' };
/** A client without credentials is a user of the service's account. */
const ACCOUNTS = `
accounts {
  SYS { users: [{ user: ${SYSTEM.user}, password: ${SYSTEM.pass} }] }
  SERVICE { jetstream: enabled, users: [{ user: service, password: service }] }
}
system_account: SYS
no_auth_user: service`;

/** `stores`: where each server keeps its data; default: a folder of its own. */
export async function startPartableCluster(
  options: { stores?: readonly string[] } = {},
): Promise<PartableCluster> {
  const ports = [freePort(), freePort(), freePort()];
  // From each server to each other one. Where servers tell each other that they are, nobody listens.
  const pairs = ports.flatMap((_, from) => ports.map((port, to) => ({ from, to, port })));
  const links = await Promise.all(
    pairs
      .filter(({ from, to }) => from !== to)
      .map(async (pair) => ({ ...pair, proxy: await startTcpProxy(`tcp://127.0.0.1:${pair.port}`) })),
  );
  const servers = await startServers(
    ports.map((port, index) => {
      const routes = links.filter(({ from }) => from === index).map(({ proxy }) => toRoute(proxy.port));
      const address = `listen: "127.0.0.1:${port}", advertise: "127.0.0.1:9", no_advertise: true`;
      return `cluster { name: test, ${address}, routes: [${routes.join(', ')}] }\n${ACCOUNTS}`;
    }),
    options.stores,
  );
  const doors = await Promise.all(servers.map(({ url }) => startTcpProxy(url)));
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all([...doors, ...links.map(({ proxy }) => proxy)].map((proxy) => proxy.close()));
  };
  return {
    url: doors.map(({ url }) => url).join(','),
    servers,
    system: SYSTEM,
    part(index, { clients }) {
      for (const { from, to, proxy } of links) if (from === index || to === index) proxy.stall();
      if (clients) doors[index]?.stall();
    },
    heal() {
      for (const proxy of [...doors, ...links.map((link) => link.proxy)]) proxy.heal();
    },
    inUse: () => doors.flatMap((door, index) => (door.connections() > 0 ? [index] : [])),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const toRoute = (port: number): string => `"nats-route://127.0.0.1:${port}"`;

/** Each with its part of the configuration, as `server-0` and so on. */
async function startServers(
  configurations: readonly string[],
  stores: readonly string[] = [],
): Promise<NatsServer[]> {
  const starting = configurations.map((part, index) => {
    const configuration = `server_name: server-${index}\n${part}`;
    const store = stores[index];
    return startNats({ configuration, ...(store === undefined ? {} : { store }) });
  });
  const settled = await Promise.allSettled(starting);
  const servers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed === undefined) return servers;
  await Promise.all(servers.map((server) => server.stop()));
  throw failed.reason;
}
