/** The Postgres that stands in when no DATABASE_URL is given: a child process with its data in our folder. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../core/durable.ts';
import type { Logger } from '../../core/logger.ts';
import { chooseAccount } from './account.ts';
import { CLUSTER, checkDataVersion, ensureCluster, ensurePassword } from './cluster.ts';
import { removeConnection, writeConnection } from './connection-file.ts';
import { openLogFile } from './log-file.ts';
import { clearLeftover } from './processes.ts';
import { findPrograms } from './programs.ts';
import { startServer } from './server.ts';

export { checkDataVersion } from './cluster.ts';
export { readConnection } from './connection-file.ts';

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
 * Starts Postgres on the cluster in `directory`, which is created at the first start. The caller must own the directory
 * (`openDataFolder`). What a killed process has left is handled: an unfinished cluster is built again, a running server stopped. The
 * server listens on 127.0.0.1. On Linux it ends with the calling thread, so call from the main one.
 *
 * @throws Error of one line, with the last lines of Postgres' log where Postgres itself complained.
 */
export async function startPostgres(options: {
  directory: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** That of a server that is started again, so that clients find it; default a free one. */
  port?: number;
  /** Server settings that differ from ours. */
  settings?: Record<string, string>;
  /** A command before the server's program, such as `env` with more variables. */
  wrapper?: readonly string[];
}): Promise<EmbeddedPostgres> {
  makeFolder(options.directory);
  const directory = realpathSync(options.directory);
  const cluster = join(directory, CLUSTER);
  checkDataVersion(directory);
  const programs = findPrograms();
  const account = chooseAccount({ postgres: programs.postgres, cluster });
  await clearLeftover(cluster, options.log);
  const log = openLogFile(join(directory, 'postgres.log'));
  try {
    const password = ensurePassword(join(directory, 'password'));
    await ensureCluster({ cluster, programs, account, log }, password);
    const server = await startServer({
      cluster,
      programs,
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
