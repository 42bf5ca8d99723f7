/** Who runs Postgres, which refuses to run as root. */
import { lchownSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type Account = {
  /** The command that Postgres' programs are started through; empty where they are started directly. */
  launcher: readonly string[];
  /** Who must own the cluster's files, where that is not ourselves. */
  owner: Owner | undefined;
};

type Owner = { uid: number; gid: number };

/**
 * Chooses how to start Postgres, by trying. If the kernel supports it, it stops Postgres (SIGINT: a fast shutdown) as soon as this
 * process dies, so that even `kill -9` leaves nothing behind; otherwise the next start stops it.
 *
 * As root, Postgres runs as the cluster's owner or else as an unprivileged user. That user can enter neither our
 * folder (0700) nor, say, a clone below /root; it keeps one capability for that: reading past file permissions, or,
 * in containers that do not grant it, past all of them. `no_setuid_fixup` makes access(2) heed the capability, too.
 *
 * @throws Error of one line that says why Postgres can't run here and what to do.
 */
export function chooseAccount(options: { postgres: string; cluster: string }): Account {
  if (process.geteuid?.() !== 0) {
    const launcher = firstThatRuns([['setpriv', '--pdeathsig', 'INT'], []], options.postgres);
    return { launcher, owner: undefined };
  }
  const owner = ownerOf(options.cluster) ?? unprivilegedUser();
  const candidates = ['dac_read_search', 'dac_override'].map((capability) => [
    'setpriv',
    '--clear-groups',
    '--pdeathsig=INT',
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    '--securebits=+no_setuid_fixup',
    ...['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all,+${capability}`),
  ]);
  return { launcher: firstThatRuns(candidates, options.postgres), owner };
}

/** Gives a cluster that root copied here back to the user that runs it. */
export function takeOwnership(cluster: string, owner: Owner): void {
  if (statSync(cluster).uid === owner.uid) return;
  const entries = readdirSync(cluster, { recursive: true, encoding: 'utf8' });
  for (const entry of ['', ...entries]) lchownSync(join(cluster, entry), owner.uid, owner.gid);
}

function firstThatRuns(candidates: string[][], postgres: string): string[] {
  let complaint = '';
  for (const launcher of candidates) {
    const program = launcher[0] ?? postgres;
    if (Bun.which(program) === null) {
      complaint = `${program} is not installed`;
      continue;
    }
    const attempt = Bun.spawnSync([...launcher, postgres, '--version'], { stdin: 'ignore', cwd: '/' });
    if (attempt.success) return launcher;
    complaint = attempt.stderr.toString().trim().replaceAll('\n', '; ');
  }
  throw cannotRun(complaint);
}

function cannotRun(reason: string): Error {
  const [asRoot, advice] =
    process.geteuid?.() === 0 ? [' as root', 'start as an ordinary user or '] : ['', ''];
  return new Error(`The embedded Postgres can't run${asRoot} here (${reason}): ${advice}set DATABASE_URL`);
}

function ownerOf(cluster: string): Owner | undefined {
  const stat = statSync(cluster, { throwIfNoEntry: false });
  return stat === undefined || stat.uid === 0 ? undefined : { uid: stat.uid, gid: stat.gid };
}

function unprivilegedUser(): Owner {
  const users = readFileSync('/etc/passwd', 'utf8');
  const [, uid, gid] =
    /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+):/m.exec(users) ?? [];
  if (uid === undefined) throw cannotRun('there is no user postgres or nobody in /etc/passwd');
  return { uid: Number(uid), gid: Number(gid) };
}
