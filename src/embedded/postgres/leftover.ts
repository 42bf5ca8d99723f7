/** The remains of an earlier killed process in the folder. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { isServerOf, shutDown } from './processes.ts';

/** Line numbers in postmaster.pid, which Postgres keeps compatible for its own tools. */
const PID_LINE = 0;
const STATUS_LINE = 7;

export type ServerState = { pid: number; ready: boolean };

/** The content of `postmaster.pid`; undefined if it is absent or incomplete. */
export function readServerState(cluster: string): ServerState | undefined {
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
