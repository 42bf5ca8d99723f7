// A real PgBouncer for a test: a child process before a Postgres, in transaction mode, on loopback.

import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, startChild } from './child.ts';

/** Where Debian's package puts it. */
const PGBOUNCER = '/usr/sbin/pgbouncer';
/** It does not run as root. */
const NOBODY = 65_534;

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingPgBouncer(): string | undefined {
  if (existsSync(PGBOUNCER)) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error('pgbouncer is required: apt-get install pgbouncer');
  return 'needs pgbouncer: apt-get install pgbouncer';
}

/** `url`: that of the Postgres, by way of PgBouncer. `ignores`: parameters of sessions that it accepts and leaves out. */
export async function startPgBouncer(
  target: string,
  { ignores = '' } = {},
): Promise<AsyncDisposable & { url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-pgbouncer-'));
  const url = new URL(target);
  const port = freePort();
  const { hostname, username, password } = url;
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${url.port || 5432} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    ...(ignores === '' ? [] : [`ignore_startup_parameters = ${ignores}`]),
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, lines.join('\n'));
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) for (const path of [folder, file]) chownSync(path, NOBODY, NOBODY);
  const child = startChild([PGBOUNCER, ...(isRoot ? ['-u', 'nobody'] : []), file]);
  await eventually('PgBouncer to listen', () => child.output().includes('process up'));
  url.port = `${port}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
