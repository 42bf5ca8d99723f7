// The service as its users run it: a process of its own, known by its URL alone.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, startChild } from './child.ts';

export const BOOTSTRAP_KEY = 'test-bootstrap-key-0123456789abcdef';
export const WORKSPACE = 'acme';

export type RunningService = AsyncDisposable & {
  url: string;
  dataDir: string;
  child: Child;
};

const MAIN = join(import.meta.dir, '../../src/main.ts');

/**
 * Starts the service with a workspace `acme` and BOOTSTRAP_KEY. A fresh data folder is made, and removed with it,
 * unless one is given. A detached one leads a process group of its own; one with a terminal speaks as to a person.
 */
export async function startService(
  options: {
    environment?: Record<string, string>;
    dataDir?: string;
    detached?: boolean;
    terminal?: boolean;
    command?: readonly string[];
  } = {},
): Promise<RunningService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'atrium-service-'));
  const terminal = options.terminal ?? false;
  const child = startChild(options.command ?? [process.execPath, MAIN], {
    detached: options.detached ?? false,
    terminal,
    environment: {
      PORT: '0',
      DATA_DIR: dataDir,
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      NODE_ENV: 'production',
      LOG_FORMAT: terminal ? 'pretty' : 'json',
      ...options.environment,
    },
  });
  let exited = false;
  void child.exited.then(() => {
    exited = true;
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const url = await eventually('the service to listen', () => {
      if (exited) throw new Error(`the service ended: ${child.output()}`);
      return /listens on (\S+)/.exec(child.output())?.[1];
    });
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
