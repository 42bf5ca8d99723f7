// A real nats-server for a test: a child process with a folder of its own, on loopback.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, freePort, startChild } from './child.ts';
import { findServer } from './servers.ts';

export type NatsServer = AsyncDisposable & {
  url: string;
  monitorUrl: string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, with the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** Where Debian's package puts the old one. */
export const OLD_NATS_SERVER = '/usr/sbin/nats-server';

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingNats(): string | undefined {
  if (findServer('nats-server') !== undefined || process.env['REQUIRE_SERVERS'] === '1') return undefined;
  return 'needs nats-server: bun run servers';
}

export async function startNats(
  options: { binary?: string; syncs?: boolean; jetstream?: boolean; monitored?: boolean } = {},
): Promise<NatsServer> {
  const binary = options.binary ?? findServer('nats-server');
  if (binary === undefined) throw new Error('nats-server is not installed: bun run servers');
  const folder = mkdtempSync(join(tmpdir(), 'atrium-nats-'));
  const [port, monitorPort] = [freePort(), freePort()];
  const sync = options.syncs === false ? '' : ', sync_interval: always';
  const lines = [
    `listen: 127.0.0.1:${port}`,
    ...(options.monitored === false ? [] : [`http: 127.0.0.1:${monitorPort}`]),
    ...(options.jetstream === false ? [] : [`jetstream { store_dir: "${folder}/store"${sync} }`]),
  ];
  writeFileSync(join(folder, 'nats.conf'), lines.join('\n'));
  let child: Child | undefined;
  const start = async (): Promise<void> => {
    const started = startChild([binary, '-c', join(folder, 'nats.conf')]);
    child = started;
    await eventually('nats-server to listen', () => started.output().includes('Server is ready'));
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
    url: `nats://127.0.0.1:${port}`,
    monitorUrl: `http://127.0.0.1:${monitorPort}`,
    start,
    stop,
    async kill() {
      child?.kill('SIGKILL');
      await child?.exited;
    },
    [Symbol.asyncDispose]: stop,
  };
}
