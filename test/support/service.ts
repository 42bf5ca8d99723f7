// The service as its users run it: a process of its own, known by its URL alone.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Child, eventually, startChild } from './child.ts';
import { type TestDatabase, testDatabase } from './database.ts';

const START_MS_MAX = 60_000;

export const BOOTSTRAP_KEY = 'test-bootstrap-key-0123456789abcdef';
export const WORKSPACE = 'acme';

export type RunningService = AsyncDisposable & { url: string; dataDir: string; child: Child };

/** The program: what the run has built (test/run.ts), or the sources where a file runs by itself. */
export const MAIN = process.env['TEST_SERVICE'] ?? join(import.meta.dir, '../../src/main.ts');

/** Whether a process with these arguments is one of the service. */
export const isService = (args: string): boolean => args.includes(basename(MAIN));

/**
 * With `TEST_NATS=cluster` (test/run.ts): the JetStream cluster of three that all services of the run use, unless a test names a
 * server itself.
 */
export const sharedNats = ({ url, monitorUrl }: { url: string; monitorUrl: string }) => ({
  TEST_NATS_URL: url,
  TEST_NATS_MONITOR_URL: monitorUrl,
});
/** A stream reserves as much of the servers' disks. */
const SHARED_BUFFER_BYTES = 64 * 1024 ** 2;

/** A stream of its own, which a service that is started again finds. */
function bufferOf(dataDir: string): Record<string, string> {
  const { TEST_NATS_URL: url, TEST_NATS_MONITOR_URL: monitorUrl } = process.env;
  if (url === undefined || monitorUrl === undefined) return {};
  return {
    NATS_URL: url,
    NATS_MONITOR_URL: monitorUrl,
    NATS_REPLICAS: '3',
    EVENT_BUFFER_BYTES_MAX: `${SHARED_BUFFER_BYTES}`,
    NATS_STREAM_PREFIX: `TEST_${Bun.hash(dataDir).toString(36).toUpperCase()}`,
  };
}

/** The databases of running services by their data folders, so that a service started again finds its own. */
const databases = new Map<string, TestDatabase>();

/**
 * Starts the service with a workspace `acme` and BOOTSTRAP_KEY. A fresh data folder is made, and removed with it,
 * unless one is given; with a fresh one goes a fresh database on the Postgres of the test run. The service embeds its
 * own Postgres where the test asks for that or gives it a data folder. A detached one leads a process group of its own;
 * one with a terminal speaks as to a person.
 */
export async function startService(
  options: {
    environment?: Record<string, string>;
    dataDir?: string;
    postgres?: 'embedded';
    detached?: boolean;
    terminal?: boolean;
    command?: readonly string[];
    /** How long its start may take; default a minute. */
    startMsMax?: number;
  } = {},
): Promise<RunningService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'atrium-service-'));
  const terminal = options.terminal ?? false;
  const fresh =
    options.dataDir === undefined &&
    options.postgres !== 'embedded' &&
    options.environment?.['DATABASE_URL'] === undefined;
  if (fresh) databases.set(dataDir, await testDatabase());
  const database = databases.get(dataDir);
  const child = startChild(options.command ?? [process.execPath, MAIN], {
    detached: options.detached ?? false,
    terminal,
    environment: {
      PORT: '0',
      DATA_DIR: dataDir,
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      NODE_ENV: 'production',
      // Tests of contents switch it on; in all others each document would be read for nothing.
      CONTENT: 'off',
      // A busy machine searches for longer.
      RETRIEVAL_TIMEOUT_MS: '60000',
      LOG_FORMAT: terminal ? 'pretty' : 'json',
      ...(database === undefined ? {} : { DATABASE_URL: database.url }),
      ...(options.environment?.['NATS_URL'] === undefined ? bufferOf(dataDir) : {}),
      ...options.environment,
    },
  });
  let exited = false;
  void child.exited.then(() => {
    exited = true;
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    if (fresh) {
      databases.delete(dataDir);
      await database?.drop();
    }
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const isListening = () => {
      if (exited) throw new Error(`the service ended: ${child.output()}`);
      return /listens on (\S+)\s/.exec(child.output())?.[1];
    };
    const url = await eventually('the service to listen', isListening, options.startMsMax ?? START_MS_MAX);
    return { url, dataDir, child, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What a service that does not start says at its end; one that does start is ended. */
export async function refusalOf(options: Parameters<typeof startService>[0]): Promise<string> {
  const told = await startService(options).then(
    async (service) => {
      await service[Symbol.asyncDispose]();
      return 'it started';
    },
    ({ message }: Error) => message,
  );
  return told.replace('the service ended: ', '').trim();
}
