// The stores over which the acceptance suite runs: the embedded one, and the real servers that are installed.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, freePort, startChild } from './child.ts';
import { findServer } from './servers.ts';

export type StoreUnderTest = {
  /** Settings that make the service use the store. */
  environment: Record<string, string>;
  stop(): Promise<void>;
};

const ACCESS_KEY = 'test-access-key';
const SECRET_KEY = 'test-secret-key-0123456789';

type RealStore = {
  command(binary: string, place: { port: number; folder: string }): string[];
  environment: Record<string, string>;
};

type RealStoreName = 'minio' | 'versitygw';

const REAL: Record<RealStoreName, RealStore> = {
  minio: {
    command: (binary, { port, folder }) => [
      binary,
      'server',
      folder,
      '--address',
      `127.0.0.1:${port}`,
      '--console-address',
      '127.0.0.1:0',
      '--quiet',
    ],
    environment: { MINIO_ROOT_USER: ACCESS_KEY, MINIO_ROOT_PASSWORD: SECRET_KEY, MINIO_UPDATE: 'off' },
  },
  versitygw: {
    command: (binary, { port, folder }) => [
      binary,
      '--port',
      `127.0.0.1:${port}`,
      '--access',
      ACCESS_KEY,
      '--secret',
      SECRET_KEY,
      'posix',
      folder,
    ],
    environment: {},
  },
};

export const STORES = ['embedded', 'minio', 'versitygw'] as const;
export type StoreName = (typeof STORES)[number];

/** Why a store can't be tested here; undefined when it can. CI requires all of them. */
export function missingStore(name: StoreName): string | undefined {
  if (name === 'embedded' || findServer(name) !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error(`${name} is required, but not installed: bun run servers`);
  return `${name} is not installed (bun run servers)`;
}

/** A store that can be taken away: paused, killed, and started again with its data and its port. */
export type RealStoreUnderTest = StoreUnderTest & {
  /** It hangs until `resume`: connections stay open, nobody answers. */
  pause(): void;
  resume(): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  start(): Promise<void>;
};

export const startStore = async (name: StoreName): Promise<StoreUnderTest> =>
  name === 'embedded' ? { environment: {}, stop: async () => undefined } : startRealStore(name);

/** With its objects in `folder`, or in one of its own. */
export async function startRealStore(name: RealStoreName, folder?: string): Promise<RealStoreUnderTest> {
  const binary = findServer(name);
  if (binary === undefined) throw new Error(`${name} is not installed`);
  const root = mkdtempSync(join(tmpdir(), `atrium-${name}-`));
  const data = folder ?? join(root, 'data');
  mkdirSync(data, { recursive: true });
  const port = freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const launch = (): Child =>
    startChild(REAL[name].command(binary, { port, folder: data }), { environment: REAL[name].environment });
  let child = launch();
  const store: RealStoreUnderTest = {
    environment: {
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: ACCESS_KEY,
      S3_SECRET_ACCESS_KEY: SECRET_KEY,
      S3_BUCKET: 'atrium-test',
    },
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
    async start() {
      child = launch();
      await listens(name, child, endpoint);
    },
    async stop() {
      await child.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
  try {
    await listens(name, child, endpoint);
    return store;
  } catch (error) {
    await store.stop();
    throw error;
  }
}

async function listens(name: RealStoreName, child: Child, endpoint: string): Promise<void> {
  let exited = false;
  void child.exited.then(() => {
    exited = true;
  });
  await eventually(`${name} to listen`, () => {
    if (exited) throw new Error(`${name} ended: ${child.output()}`);
    return fetch(endpoint).then(
      () => true,
      () => false,
    );
  });
}
