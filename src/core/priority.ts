// The priority of this process. On Linux it belongs to each thread, and a thread that is there already keeps its own: those that
// compress and read files, and those of the garbage collector, are started while modules are loaded.

import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** Lowers that of all threads, and so of those that they start. One that is lower stays as it is. */
export function lowerPriority(niceness: number): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
  for (const thread of threads) {
    try {
      lower(thread, niceness);
    } catch (error) {
      const hasEnded = (error as NodeJS.ErrnoException).errno === -constants.errno.ESRCH;
      if (!hasEnded) throw error;
    }
  }
}

/** Lowers that of another process where it runs the program, as `ps -o comm` tells it, and this user may. */
export function lowerPriorityOf(process: number, program: string, niceness: number): void {
  try {
    if (readFileSync(`/proc/${process}/comm`, 'utf8') === `${program}\n`) lower(process, niceness);
  } catch {
    // It goes on as it is.
  }
}

const lower = (thread: number, niceness: number): void =>
  setPriority(thread, Math.max(getPriority(thread), niceness));
