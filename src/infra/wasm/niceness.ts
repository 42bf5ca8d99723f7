import { getPriority, setPriority } from 'node:os';

/**
 * Lowers the priority of the calling thread. Priorities belong to threads on Linux alone, elsewhere to whole processes. Only
 * a privileged process may lower a niceness.
 */
export function beNice(niceness: number): void {
  if (process.platform === 'linux') setPriority(0, Math.max(getPriority(), niceness));
}
