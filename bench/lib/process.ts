// What a process has used, from the kernel's own books.

import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of a process, all threads that live, in microseconds: to the nanosecond, where `/proc/PID/stat` counts ticks of 10 ms. */
export function processorMicros(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return nanoseconds / 1000;
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
