/** The Postgres that stands in when no DATABASE_URL is given: a child process with its data in our folder. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../core/durable.ts';
import type { Logger } from '../../core/logger.ts';
import { chooseAccount } from './account.ts';
import { findBinaries } from './binaries.ts';
import { CLUSTER, ensureCluster, ensurePassword } from './cluster.ts';
import { removeConnection, writeConnection } from './connection-file.ts';
import { checkDataVersion } from './data-version.ts';
import { clearLeftover } from './leftover.ts';
import { openLogFile } from './log-file.ts';
import { startServer } from './server.ts';

export { readConnection } from './connection-file.ts';
export { checkDataVersion } from './data-version.ts';

export type EmbeddedPostgres = {
  /** `postgres://atrium:…@127.0.0.1:PORT/atrium` */
  url: string;
  /** Resolves with the exit code when the server ends, asked to or not. */
  exited: Promise<number>;
  /** A fast shutdown, and harsher ones where that takes too long; returns within 20 s. */
  stop: () => Promise<void>;
};

/** Whether a start of Postgres in the folder would find the data of an earlier one. */
export const hasCluster = (directory: string): boolean => existsSync(join(directory, CLUSTER));

/**
 * Starts Postgres on the cluster in `directory`, which is created at the first start.
 *
 * The caller must own the directory (`openDataFolder`). The remains of a killed process are handled: an
 * unfinished cluster is built again, a running server stopped, a stale pid file removed. The server listens on
 * 127.0.0.1, on a free port that changes from start to start. On Linux it ends with the calling thread, so call from
 * the main one.
 *
 * @param options.port the port of a server that is started again, so that clients find it; default a free one
 * @param options.settings server settings that differ from ours
 * @param options.wrapper a command before the server's program, such as `env` with more variables
 * @throws Error of one line; where Postgres itself complained, with the last lines of its log.
 */
export async function startPostgres(options: {
  directory: string;
  log: Pick<Logger, 'info' | 'warn'>;
  port?: number;
  settings?: Record<string, string>;
  wrapper?: readonly string[];
}): Promise<EmbeddedPostgres> {
  makeFolder(options.directory);
  const directory = realpathSync(options.directory);
  const cluster = join(directory, CLUSTER);
  checkDataVersion(directory);
  const binaries = findBinaries();
  const account = chooseAccount({ postgres: binaries.postgres, cluster });
  await clearLeftover(cluster, options.log);
  const log = openLogFile(join(directory, 'postgres.log'));
  try {
    const password = ensurePassword(join(directory, 'password'));
    await ensureCluster({ cluster, binaries, account, log }, password);
    const server = await startServer({
      cluster,
      binaries,
      account,
      log,
      settings: options.settings ?? {},
      wrapper: options.wrapper ?? [],
      port: options.port,
    });
    const url = writeConnection(directory, { port: server.port, password, pid: server.pid });
    options.log.info({ port: server.port, pid: server.pid }, 'embedded Postgres is ready');
    return {
      url,
      exited: server.exited,
      async stop() {
        await server.stop();
        removeConnection(directory);
      },
    };
  } finally {
    log.close();
  }
}
