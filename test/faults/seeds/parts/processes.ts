// The processes of one site: found by their owner or their data folder, and signalled.

import { readdirSync, readFileSync } from 'node:fs';
import { isService } from '../../../support/service.ts';

/** The serving processes of an owner. */
export function childrenOf(owner: number): number[] {
  const listed = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', `${owner}`]).stdout.toString();
  return listed
    .split('\n')
    .filter(isService)
    .map((line) => Number.parseInt(line, 10));
}

/** A process that has ended meanwhile needs no signal. */
export function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ESRCH') throw error;
  }
}

/** Processes with the folder in their command line or as their DATA_DIR. */
export function runningOn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(
      (pid) =>
        readOf(pid, 'cmdline').includes(folder) || readOf(pid, 'environ').includes(`DATA_DIR=${folder}\0`),
    )
    .map(Number);
}

const readOf = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    // It has ended.
    return '';
  }
};

/** Command lines of what still runs on the folder. */
export const survivorsOf = (folder: string): string[] =>
  runningOn(folder).map((pid) => readOf(`${pid}`, 'cmdline').replaceAll('\0', ' ').slice(0, 200));
