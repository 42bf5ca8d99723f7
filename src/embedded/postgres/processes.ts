/** Finding, watching and ending Postgres servers by their process ids, also those that an earlier process has left. */

import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { until } from '../../core/wait.ts';

/** A fast shutdown disconnects the clients and writes everything out; an immediate one leaves that to recovery. */
const SHUTDOWN_STEPS = [
  { signal: 'SIGINT', timeoutMs: 10_000 },
  { signal: 'SIGQUIT', timeoutMs: 5_000 },
  { signal: 'SIGKILL', timeoutMs: 2_000 },
] as const;

const POLL_MS = 5;

/** Whether the process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  // "pid (name) state …"; the name may hold spaces and brackets.
  const stat = readProc(pid, 'stat');
  return stat === undefined || !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '');
}

/**
 * Whether the process is a server of this cluster, and not another one that got the same id later. Servers work in
 * their cluster's folder; if another user's folder is not readable, the command line is used.
 */
export function isServerOf(pid: number, cluster: string): boolean {
  if (!isAlive(pid)) return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    const [program = '', ...args] = commandLine(pid);
    return /(^|\/)postgres$/.test(program) && args.includes(cluster);
  }
}

/**
 * Kills what a dead server of the cluster has left: a backend that waits for a lock of another one that was killed does
 * so for ever, and with it the shared memory stays in use. Nothing is found where there is no /proc.
 */
export function killBackends(cluster: string): void {
  const processes = existsSync('/proc') ? readdirSync('/proc').map(Number).filter(Number.isInteger) : [];
  for (const pid of processes.filter((each) => isServerOf(each, cluster))) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Shuts the server down, ever less gently. Each step has its time; false: it still runs. */
export async function shutDown(pid: number): Promise<boolean> {
  for (const { signal, timeoutMs } of SHUTDOWN_STEPS) {
    try {
      process.kill(pid, signal);
      process.kill(pid, 'SIGCONT');
    } catch {
      return !isAlive(pid);
    }
    if (await until(() => !isAlive(pid), { everyMs: POLL_MS, timeoutMs })) return true;
  }
  return !isAlive(pid);
}

function commandLine(pid: number): string[] {
  const arguments_ = readProc(pid, 'cmdline');
  if (arguments_ !== undefined) return arguments_.split('\0');
  if (Bun.which('ps') === null) return [];
  return Bun.spawnSync(['ps', '-o', 'command=', '-p', `${pid}`])
    .stdout.toString()
    .trim()
    .split(' ');
}

function readProc(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** Line numbers in postmaster.pid, which Postgres keeps compatible for its own tools. */
const PID_LINE = 0;
const STATUS_LINE = 7;

/** The content of `postmaster.pid`; undefined if it is absent or incomplete. */
export function readServerState(cluster: string): { pid: number; ready: boolean } | undefined {
  let lines: string[];
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return undefined;
  }
  const pid = Number(lines[PID_LINE]);
  return Number.isInteger(pid) && pid > 0
    ? { pid, ready: lines[STATUS_LINE]?.trim() === 'ready' }
    : undefined;
}

/**
 * Ends a server that still runs on the cluster, and clears the pid file of one that does not.
 *
 * A running one is not adopted: it is no child of ours, so its end would go unnoticed, and it may run with the
 * settings of an earlier version. A restart costs less than 0.1 s. Removing the pid file is safe even if backends
 * of a dead server linger: the shared memory they hold keeps a new server from starting until they are gone.
 *
 * The caller holds the data folder's lock: no other process starts a server here.
 *
 * @throws Error of one line when the server can't be ended.
 */
export async function clearLeftover(cluster: string, log: Pick<Logger, 'warn'>) {
  const state = readServerState(cluster);
  if (state === undefined) return;
  if (isServerOf(state.pid, cluster)) {
    log.warn({ pid: state.pid }, 'stopping a Postgres that an earlier process left running');
    if (!(await shutDown(state.pid)))
      throw new Error(
        `A Postgres (process ${state.pid}) still runs in ${cluster} and can't be stopped from here`,
      );
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
}
