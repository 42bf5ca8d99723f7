// Upper bounds on time that hold on a busy machine, too.

import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const SAMPLE_MS = 100;
/** Its fourth field is how many threads run or wait for a processor, of how many. */
const LOAD = '/proc/loadavg';

/** How many threads share a processor now; never less than one. */
function crowding(): number {
  const runnable = existsSync(LOAD)
    ? Number.parseInt(readFileSync(LOAD, 'latin1').split(' ')[3] ?? '', 10)
    : 0;
  return Math.max(1, runnable / availableParallelism());
}

let lastAt = performance.now();
let machineMs = 0;

/**
 * Milliseconds since some moment, as of a machine of one's own: while twice as many threads want to run as there are
 * processors, they pass half as fast. On an idle machine it is `performance.now()`. For upper bounds alone.
 */
export function machineNow(): number {
  const now = performance.now();
  machineMs += (now - lastAt) / crowding();
  lastAt = now;
  return machineMs;
}

setInterval(machineNow, SAMPLE_MS).unref();
