/** Creating the database cluster, once. */
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile, syncFolderNow } from '../../core/durable.ts';
import { type Account, takeOwnership } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { LogFile } from './log-file.ts';

const INIT_TIMEOUT_MS = 120_000;

export const CLUSTER = 'cluster';

/** The service's role and its database, which share the name. It is no superuser: SQL can't reach the machine. */
export const ROLE = 'atrium';

type Parts = { cluster: string; binaries: Binaries; account: Account; log: LogFile };

/**
 * Makes sure that the cluster exists, with the role and the database, and belongs to the user that runs it.
 *
 * It is built beside its place and renamed into it when complete, so that a start that was killed half-way leaves
 * nothing that could be mistaken for a cluster.
 */
export async function ensureCluster(parts: Parts, password: string): Promise<void> {
  const { cluster, account } = parts;
  const prefix = `${cluster}.unfinished-`;
  removeUnfinished(prefix);
  if (existsSync(cluster)) {
    if (account.owner !== undefined) takeOwnership(cluster, account.owner);
    return;
  }
  const unfinished = mkdtempSync(prefix);
  if (account.owner !== undefined) chownSync(unfinished, account.owner.uid, account.owner.gid);
  await initialise({ ...parts, cluster: unfinished }, password);
  await createDatabase({ ...parts, cluster: unfinished }, password);
  await syncCluster({ ...parts, cluster: unfinished });
  renameSync(unfinished, cluster);
  syncFolderNow(dirname(cluster));
}

/**
 * Each set-up has a folder of its own: processes of one that was killed may go on writing to theirs for a moment,
 * which is why its removal may fail, to be made up for at the next start.
 */
function removeUnfinished(prefix: string): void {
  for (const name of readdirSync(dirname(prefix))) {
    const path = join(dirname(prefix), name);
    if (!path.startsWith(prefix)) continue;
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {}
  }
}

/** The password in `path`, made at the first call. Both roles, `postgres` and the service's, have it. */
export function ensurePassword(path: string): string {
  if (!existsSync(path)) {
    const bytes = crypto.getRandomValues(new Uint8Array(24));
    replaceFile(path, bytes.toHex());
  }
  return readFileSync(path, 'utf8');
}

/**
 * Text sorts by code point on every machine (the provider is built in). LC_CTYPE only decides which characters
 * pg_trgm takes for letters: with plain `C` it drops all but ASCII, so that locale is the way out for systems
 * without `C.UTF-8`.
 */
async function initialise(parts: Parts, password: string): Promise<void> {
  const { binaries, cluster, log } = parts;
  const command = (ctype: string) => [
    binaries.initdb,
    `--pgdata=${cluster}`,
    '--username=postgres',
    '--pwfile=/dev/stdin',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--data-checksums',
    '--no-instructions',
    '--no-sync',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    `--lc-ctype=${ctype}`,
  ];
  if (await run(parts, command('C.UTF-8'), password)) return;
  if (log.written().includes('invalid locale name') && (await run(parts, command('C'), password))) return;
  throw failed(parts, 'be set up');
}

async function createDatabase(parts: Parts, password: string): Promise<void> {
  const { binaries, cluster, log } = parts;
  const statements = [
    `CREATE ROLE ${ROLE} LOGIN CREATEDB PASSWORD '${password}'`,
    `GRANT pg_monitor, pg_checkpoint TO ${ROLE}`,
    `CREATE DATABASE ${ROLE} OWNER ${ROLE}`,
  ];
  // A single-user server reads one statement a line; it reports errors, and goes on.
  const flags = ['log_checkpoints=off', 'log_min_error_statement=panic', QUICK_PASSWORDS];
  const command = [
    binaries.postgres,
    '--single',
    '-D',
    cluster,
    ...flags.flatMap((flag) => ['-c', flag]),
    'postgres',
  ];
  const ran = await run(parts, command, `${statements.join('\n')}\n`);
  if (!ran || log.written().includes('ERROR:')) throw failed(parts, 'create its database');
}

/** Thousands of rounds, which each connection takes again, keep a short password from being guessed. One of 24 random bytes cannot be. */
const QUICK_PASSWORDS = 'scram_iterations=1';

/** Every file and folder: nothing is a cluster before all of it would survive a loss of power. */
async function syncCluster(parts: Parts): Promise<void> {
  const { binaries, cluster } = parts;
  if (!(await run(parts, [binaries.initdb, '--sync-only', '--pgdata', cluster], '')))
    throw failed(parts, 'be set up');
}

/** Whether the command succeeded; what it said is in the log from its mark on. */
async function run({ account, log }: Parts, command: string[], input: string): Promise<boolean> {
  log.mark();
  const child = Bun.spawn([...account.launcher, ...command], {
    stdin: new Blob([input]),
    stdout: log.descriptor,
    stderr: log.descriptor,
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    timeout: INIT_TIMEOUT_MS,
  });
  return (await child.exited) === 0;
}

const failed = ({ log }: Parts, what: string): Error =>
  new Error(`The embedded Postgres can't ${what} (${log.path}): ${log.tail()}`);

/** Messages in English, times in UTC. The search path is for the shell tools that initdb may call. */
export const CHILD_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };
