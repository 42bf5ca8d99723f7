// What a process has used, from the kernel's own books.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Processor time of a process, all threads that live, in microseconds: to the nanosecond, where `/proc/PID/stat` counts ticks of 10 ms. */
export function processorMicros(pid: number): number {
  let micros = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      micros += threadMicros(pid, thread);
    } catch {
      // It has ended meanwhile.
    }
  }
  return micros;
}

const TICK_MICROS = 10_000;

/** User and system time of a process (proc(5)), its ended threads' too; `ended`: with that of its children that have ended. */
export function processMicros(pid: number, { ended = false } = {}): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const ticks = fields.slice(11, ended ? 15 : 13).reduce((sum, field) => sum + Number(field), 0);
  return ticks * TICK_MICROS;
}

/** Of one thread, from the scheduler's own books, which count nanoseconds. */
export const threadMicros = (pid: number, thread: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;

/** How long the main thread of a process has waited for a processor although it could have run, in microseconds. */
export const waitedMicros = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1000;

/** The Postgres of a data folder with all that it has started; that of backends which have ended is in its own row. */
export function postgresMicros(dataDir: string): number {
  const file = readFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8');
  const postmaster = Number(file.split('\n')[0]);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').split(' ');
  return children
    .filter((child) => child.trim() !== '')
    .reduce(
      (sum, child) => {
        try {
          return sum + threadMicros(Number(child), child);
        } catch {
          return sum;
        }
      },
      processMicros(postmaster, { ended: true }),
    );
}

/** Resident memory now, and at its highest since `resetPeak`, in MiB. */
export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** Starts the peak anew (proc(5), clear_refs). */
export const resetPeak = async (pid: number): Promise<void> => {
  await Bun.write(`/proc/${pid}/clear_refs`, '5');
};

/** A process, its children, and theirs. */
function familyOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const children = tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(familyOf)];
  } catch {
    // It has ended.
    return [];
  }
}

/** In MiB, of one process. Pages that processes share are divided among them, so that sums count each page once. */
type ProportionalMemory = { name: string; own: number; shared: number };

/**
 * What the kernel counts in /proc/PID/smaps_rollup: `own` without, and `shared` only the memory that processes share by agreement, such
 * as the buffers of a Postgres. Undefined for a process that has ended.
 */
function proportionalMemory(pid: number): ProportionalMemory | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const read = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(rollup)?.[1] ?? 0) / 1024;
    const shared = read('Pss_Shmem');
    const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    return { name, own: read('Pss') - shared, shared };
  } catch {
    return undefined;
  }
}

/** In MiB: the service's own process, all others that it has started, and what their servers share as buffers. */
export type FamilyMemory = { service: number; children: number; buffers: number; total: number };

export function familyMemory(pid: number): FamilyMemory {
  const all = familyOf(pid).map((each) => ({ pid: each, ...proportionalMemory(each) }));
  const sum = (values: (number | undefined)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
  const service = sum(all.filter((each) => each.pid === pid).map(({ own }) => own));
  const children = sum(all.filter((each) => each.pid !== pid).map(({ own }) => own));
  const buffers = sum(all.map(({ shared }) => shared));
  return { service, children, buffers, total: service + children + buffers };
}
