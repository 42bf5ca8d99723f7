/** Creating the database cluster, once. */
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { replaceFile, syncFolderNow } from '../../core/durable.ts';
import { type Account, takeOwnership } from './account.ts';
import type { LogFile } from './log-file.ts';
import { findPrograms, type Programs } from './programs.ts';

const INIT_TIMEOUT_MS = 120_000;

export const CLUSTER = 'cluster';

/** The service's role and its database, which share the name. It is no superuser: SQL can't reach the machine. */
export const ROLE = 'atrium';

type Parts = { cluster: string; programs: Programs; account: Account; log: LogFile };

/**
 * Makes sure that the cluster exists, with the role and the database, and belongs to the user that runs it.
 *
 * It is built beside its place and renamed into it when complete, so that a start that was killed half-way leaves
 * nothing that could be mistaken for a cluster. Each set-up has a folder of its own: processes of one that was killed may go on
 * writing to theirs for a moment, so that its removal may fail until the next start.
 */
export async function ensureCluster({ cluster, account, ...others }: Parts, password: string): Promise<void> {
  const { owner } = account;
  const folder = dirname(cluster);
  const prefix = `${basename(cluster)}.unfinished-`;
  for (const name of readdirSync(folder).filter((each) => each.startsWith(prefix))) {
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {}
  }
  if (existsSync(cluster)) {
    if (owner !== undefined) takeOwnership(cluster, owner);
    return;
  }
  const unfinished = mkdtempSync(join(folder, prefix));
  const parts = { cluster: unfinished, account, ...others };
  if (owner !== undefined) chownSync(unfinished, owner.uid, owner.gid);
  await initialise(parts, password);
  await createDatabase(parts, password);
  // Nothing is a cluster before every file of it would survive a loss of power.
  if (!(await run(parts, [others.programs.initdb, '--sync-only', '--pgdata', unfinished], '')))
    throw failed(parts, 'be set up');
  renameSync(unfinished, cluster);
  syncFolderNow(folder);
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
  const { programs, cluster, log } = parts;
  const command = (ctype: string) => [
    programs.initdb,
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
  const { programs, cluster, log } = parts;
  const statements = [
    `CREATE ROLE ${ROLE} LOGIN CREATEDB PASSWORD '${password}'`,
    `GRANT pg_monitor, pg_checkpoint TO ${ROLE}`,
    `CREATE DATABASE ${ROLE} OWNER ${ROLE}`,
  ];
  // A single-user server reads one statement a line; it reports errors, and goes on.
  const flags = ['log_checkpoints=off', 'log_min_error_statement=panic', QUICK_PASSWORDS];
  const command = [
    programs.postgres,
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

/**
 * Checks that the programs can run on the data that is there: each major version of Postgres has files of its own. A folder without
 * a cluster is fine.
 *
 * @throws Error of one line that says what to do with the data of another major version, older or newer.
 */
export function checkDataVersion(directory: string): void {
  const cluster = join(directory, CLUSTER);
  let ofData: string;
  try {
    ofData = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  } catch {
    return;
  }
  const { major } = findPrograms();
  if (major === undefined || major === ofData) return;
  throw new Error(
    `The data in ${cluster} is of PostgreSQL ${ofData}, which this version of Atrium cannot read: it brings PostgreSQL ` +
      `${major}. Nothing was changed. Start the version of Atrium that ran on it last, and take the data over as ` +
      'docs/operating/running.md says under "Another PostgreSQL"',
  );
}
