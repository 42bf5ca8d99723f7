// A Postgres of a test's own: it can be paused, killed, and started again with its data and its port.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startPostgres } from '../../src/embedded/postgres/index.ts';
import { freePort, freeze } from './child.ts';
import { silentLog } from './database.ts';

export type PostgresUnderTest = AsyncDisposable & {
  url: string;
  /** Every process of it hangs until `resume`: connections stay open, nobody answers. */
  pause(): void;
  resume(): void;
  /** SIGKILL to all of it; resolves when it is gone. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * In a folder of its own, or in `directory`, which may have a cluster already; either is removed with it. `environment`: more
 * variables of its process; `settings`: those of the server that differ from the service's.
 */
export async function startPostgresServer(
  options: {
    directory?: string;
    environment?: Record<string, string>;
    settings?: Record<string, string>;
  } = {},
): Promise<PostgresUnderTest> {
  const { directory = mkdtempSync(join(tmpdir(), 'atrium-postgres-')), environment = {} } = options;
  const { settings = {} } = options;
  // The server's own user has to make what a preloaded library shares among its processes.
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const wrapper = variables.length === 0 ? [] : ['env', ...variables];
  const port = freePort();
  const launch = (): Promise<EmbeddedPostgres> =>
    startPostgres({ directory, log: silentLog, port, settings, wrapper });
  let server = await launch();
  const { url } = server;
  const signal = (name: NodeJS.Signals): void => signalPostgres(directory, name);
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return {
    url,
    stop,
    [Symbol.asyncDispose]: stop,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async kill() {
      signal('SIGKILL');
      await server.exited;
    },
    async start() {
      server = await launch();
    },
  };
}

/** Reaches every process of the server that runs in the directory. */
export function signalPostgres(directory: string, name: NodeJS.Signals): void {
  for (const pid of processesOf(directory)) signalProcess(pid, name);
}

/** Those that have ended by themselves meanwhile are none of our concern. */
function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    if (name === 'SIGSTOP') freeze(pid);
    else process.kill(pid, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** The server first, so that it starts no more of its children. */
function processesOf(directory: string): number[] {
  const { pid } = JSON.parse(readFileSync(join(directory, 'connection.json'), 'utf8'));
  const children = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', `${pid}`]).stdout.toString();
  return [pid, ...children.trim().split(/\s+/).filter(Boolean).map(Number)];
}
