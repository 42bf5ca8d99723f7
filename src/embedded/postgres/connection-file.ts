/** How another process of the same machine finds the running server. */
import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../core/durable.ts';
import { CLUSTER, ROLE } from './cluster.ts';
import { isServerOf } from './processes.ts';

type Connection = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  pid: number;
};

const pathIn = (directory: string) => join(directory, 'connection.json');

/** Writes the file (0600) and returns the URL it stands for. */
export function writeConnection(
  directory: string,
  server: { port: number; password: string; pid: number },
): string {
  const connection: Connection = { host: '127.0.0.1', user: ROLE, database: ROLE, ...server };
  replaceFile(pathIn(directory), `${JSON.stringify(connection, null, 2)}\n`);
  return toUrl(connection);
}

export function removeConnection(directory: string): void {
  rmSync(pathIn(directory), { force: true });
}

/** The URL of the server that runs in the directory; undefined where none does. */
export function readConnection(directory: string): string | undefined {
  try {
    const connection = JSON.parse(readFileSync(pathIn(directory), 'utf8')) as Connection;
    const cluster = join(realpathSync(directory), CLUSTER);
    return isServerOf(connection.pid, cluster) ? toUrl(connection) : undefined;
  } catch {
    return undefined;
  }
}

const toUrl = ({ user, password, host, port, database }: Connection): string =>
  `postgres://${user}:${password}@${host}:${port}/${database}`;
