// Processes that a killed start has left running. Each is on record in the data folder.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { until } from '../core/wait.ts';

/** A process id and the start of its process: together they name one process, and never another. */
type Identity = { pid: number; startedAt: string };
type Entry = { process: Identity; owner: Identity };

const FOLDER = 'processes';
const END_TIMEOUT_MS = 5000;
const POLL_MS = 5;
/** Among the fields that follow the name in /proc/<pid>/stat; the start is in ticks since boot. */
const STATE_FIELD = 0;
const THREADS_FIELD = 17;
const START_FIELD = 19;

/** Puts a process of this one's on record; the function that it returns takes it off. */
export function recordProcess(dataDir: string, pid: number): () => void {
  const [child, owner] = [identify(pid), identify(process.pid)];
  if (child === undefined || owner === undefined) return () => undefined;
  const file = join(dataDir, FOLDER, `${pid}.json`);
  mkdirSync(join(dataDir, FOLDER), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify({ process: child, owner } satisfies Entry), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/**
 * Kills the processes whose owner is dead, in the middle of their work: everything that they have acknowledged is durable,
 * and their share of the port is in the way of this start.
 */
export async function endLeftovers(dataDir: string, log: Logger): Promise<void> {
  const ended: Identity[] = [];
  for (const file of recordsIn(join(dataDir, FOLDER))) {
    const entry = readEntry(file);
    if (entry !== undefined && isRunning(entry.owner)) continue;
    if (entry !== undefined && isRunning(entry.process)) {
      const { pid } = entry.process;
      log.warn({ pid }, 'ending a process that an earlier start has left behind');
      process.kill(pid, 'SIGKILL');
      ended.push(entry.process);
    }
    rmSync(file, { force: true });
  }
  await until(() => !ended.some(isRunning), { everyMs: POLL_MS, timeoutMs: END_TIMEOUT_MS });
}

function recordsIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Undefined for a damaged file: its owner was killed while it wrote. */
function readEntry(file: string): Entry | undefined {
  try {
    const { process: child, owner } = parseJson(readFileSync(file, 'utf8')) as Partial<Entry>;
    return typeof child?.pid === 'number' && typeof owner?.pid === 'number'
      ? { process: child, owner }
      : undefined;
  } catch {
    return undefined;
  }
}

const isRunning = ({ pid, startedAt }: Identity): boolean => identify(pid)?.startedAt === startedAt;

/** Undefined where no such process runs. */
function identify(pid: number): Identity | undefined {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startElsewhere(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // "pid (name) state …"; the name may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A dead one holds its port until the last of its threads has gone.
    const isGone = ['Z', 'X'].includes(fields[STATE_FIELD] ?? '') && Number(fields[THREADS_FIELD]) <= 1;
    return isGone ? undefined : `${boot} ${fields[START_FIELD]}`;
  } catch {
    return undefined;
  }
}

function startElsewhere(pid: number): string | undefined {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'lstart=', '-p', `${pid}`]);
  return stdout.toString().trim() || undefined;
}
