/** Watching and ending a Postgres server by its process id. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
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
  for (const pid of processIds().filter((each) => isServerOf(each, cluster))) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

function processIds(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
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
