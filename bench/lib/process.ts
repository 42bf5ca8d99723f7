// What a process has used, from the kernel's own books.

import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** Processor time of a process, all threads, in microseconds. */
export function processorMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000_000;
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
