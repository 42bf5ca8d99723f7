/** Makes a cluster from a base backup and the log that followed it, up to a moment: Postgres' own recovery, in a folder of its own. */
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, syncFolderNow } from '../../core/durable.ts';
import { type Account, chooseAccount, takeOwnership } from './account.ts';
import { findBinaries } from './binaries.ts';
import { CLUSTER, ensurePassword, removeUnfinished, setPasswords, syncCluster } from './cluster.ts';
import { openLogFile } from './log-file.ts';
import { startServer } from './server.ts';

/** What Postgres says it has done. */
export type Recovered = { timeline: number; lastTransactionAt: string | undefined };

export type RecoveryOptions = {
  directory: string;
  /** Undefined: to the end of the log. */
  target: { at: Date | undefined; timeline: number };
  /** What the server needs so that its log is archived. */
  settings: Record<string, string>;
  /** Writes the files of the base backup into the folder. */
  unpack(folder: string): Promise<void>;
  /** A file of the log; undefined where the archive has none. An error that it throws ends the recovery. */
  fetchLog(name: string): Promise<Uint8Array | undefined>;
  /** Called with the folder of the cluster when Postgres has ended: what it wants archived has to be, before anything else is. */
  archive(cluster: string, recovered: Recovered): Promise<void>;
};

const POLL_MS = 10;

/**
 * The cluster is built beside its place, and renamed into it when it is complete: what is cut off leaves nothing. Throws an Error of
 * one line; `hasCluster` has to be false.
 */
export async function recoverCluster(options: RecoveryOptions): Promise<Recovered> {
  makeFolder(options.directory);
  const directory = realpathSync(options.directory);
  const place = join(directory, CLUSTER);
  const binaries = findBinaries();
  const account = chooseAccount({ postgres: binaries.postgres, cluster: place });
  const prefix = `${place}.unfinished-`;
  removeUnfinished(prefix);
  const cluster = mkdtempSync(prefix);
  const handover = openHandover(`${cluster}.log`, { account, fetchLog: options.fetchLog });
  const log = openLogFile(join(directory, 'postgres.log'));
  const parts = { cluster, binaries, account, log };
  try {
    await options.unpack(cluster);
    writeFileSync(join(cluster, 'recovery.signal'), '');
    if (account.owner !== undefined) takeOwnership(cluster, account.owner);
    const recovered = await recover(parts, options, handover);
    const settings = { ...options.settings };
    await setPasswords(parts, ensurePassword(join(directory, 'password')), settings);
    await options.archive(cluster, recovered);
    await syncCluster(parts);
    renameSync(cluster, place);
    syncFolderNow(dirname(place));
    return recovered;
  } finally {
    await handover.close();
    log.close();
    if (existsSync(cluster)) removeUnfinished(prefix);
  }
}

type Parts = Parameters<typeof syncCluster>[0];

async function recover(
  parts: Parts,
  { target, settings }: RecoveryOptions,
  handover: Handover,
): Promise<Recovered> {
  // At this point of its start Postgres knows no names of time zones, such as Z.
  const goal =
    target.at === undefined ? {} : { recovery_target_time: target.at.toISOString().replace('Z', '+00') };
  const started = startServer({
    ...parts,
    settings: {
      ...settings,
      ...goal,
      recovery_target_timeline: `${target.timeline}`,
      recovery_target_action: 'promote',
      restore_command: handover.command,
      hot_standby: 'off',
    },
    wrapper: [],
    port: undefined,
    readyTimeoutMs: Number.POSITIVE_INFINITY,
    giveUp: handover.failed,
  });
  const server = await started.catch((error: unknown) => {
    throw handover.failure() ?? explain(parts.log.written()) ?? error;
  });
  const said = parts.log.written();
  await server.stop();
  const timeline = Number(/selected new timeline ID: (\d+)/.exec(said)?.[1]);
  const lastTransactionAt = /last completed transaction was at log time (.+)/.exec(said)?.[1]?.trim();
  return { timeline, lastTransactionAt };
}

/** What an operator can do about it. */
function explain(said: string): Error | undefined {
  if (!said.includes('recovery ended before configured recovery target was reached')) return undefined;
  const last = /last completed transaction was at log time (.+)/.exec(said)?.[1]?.trim();
  const reached = last === undefined ? '' : `; its last change is of ${last}`;
  return new Error(
    `the archive ends before that time${reached}. Name an earlier time, or none for the end of the archive`,
  );
}

type Handover = ReturnType<typeof openHandover>;

/**
 * Postgres asks for a file of the log by a command, in which neither keys nor addresses are to stand. So the command asks by a file
 * in a folder, `NAME.wanted`, and waits for NAME, or for `NAME.absent`; this process fetches it. A failure of the store is never
 * taken for the end of the log.
 */
function openHandover(
  folder: string,
  { account, fetchLog }: { account: Account; fetchLog: RecoveryOptions['fetchLog'] },
) {
  mkdirSync(folder, { mode: 0o700 });
  const give = (path: string): void => {
    if (account.owner !== undefined) chownSync(path, account.owner.uid, account.owner.gid);
  };
  give(folder);
  const stopping = new AbortController();
  const failed = Promise.withResolvers<void>();
  let failure: unknown;
  const hand = async (name: string): Promise<void> => {
    const bytes = await fetchLog(name);
    const path = join(folder, bytes === undefined ? `${name}.absent` : name);
    writeFileSync(`${path}.new`, bytes ?? '', { mode: 0o600 });
    give(`${path}.new`);
    renameSync(`${path}.new`, path);
  };
  const serve = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const wanted = (await readdir(folder)).filter((file) => file.endsWith('.wanted'));
      for (const file of wanted) {
        rmSync(join(folder, file), { force: true });
        rmSync(join(folder, file.replace(/wanted$/, 'absent')), { force: true });
        await hand(file.slice(0, -'.wanted'.length));
      }
      if (wanted.length === 0) await Bun.sleep(POLL_MS);
    }
  };
  const serving = serve().catch((error: unknown) => {
    failure = error;
    failed.resolve();
  });
  const from = `../${folder.slice(dirname(folder).length + 1)}`;
  return {
    command:
      `: > "${from}/%f.wanted"; until test -e "${from}/%f" || test -e "${from}/%f.absent"; do sleep 0.02; done; ` +
      `test -e "${from}/%f" && mv "${from}/%f" "%p"`,
    failed: failed.promise,
    failure: () => failure,
    async close(): Promise<void> {
      stopping.abort();
      await serving;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
