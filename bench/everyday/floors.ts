// Everyday operations compared with a floor: the runtime's own server, which runs the same number of statements and commits by the
// client of the service, and nothing else.

import { join } from 'node:path';
import { eventually, startChild } from '../../test/support/child.ts';
import { median } from '../compute/statistics.ts';
import { postgresMicros, processMicros } from '../lib/process.ts';
import { fill, OPERATIONS } from './operations.ts';
import { measure, sumOf } from './price.ts';
import { HERE, startSide } from './side.ts';

/** The path of the floor (floor.ts) of each operation that has one. */
const FLOORS: Readonly<Record<string, string>> = {
  'one embedding': '/vector',
  'events page of 50': '/page',
  'patch of a summary': '/update',
  'message with the local echo': '/inserts',
};

/** After them the floor's code is compiled. */
const WARMING_ROUNDS = 2;

/** The processor time of each operation as a multiple of its floor's: the median of rounds in which both take turns. */
export async function compareWithFloors(pace: { rounds: number; seconds: number }): Promise<number[]> {
  await using side = await startSide(HERE);
  const library = await fill(side.url);
  await using floor = await startFloor(side.databaseUrl);
  const used = () => ({
    service: processMicros(floor.pid),
    postgres: postgresMicros(side.dataDir),
    store: 0,
  });
  const ratios: number[] = [];
  for (const [name, path] of Object.entries(FLOORS)) {
    const operation = OPERATIONS.find((each) => each.name === name);
    if (operation === undefined) throw new Error(`there is no operation ${name}`);
    const bare = {
      ask: (_: unknown, n: number) => fetch(`${floor.url}${path}`, { method: 'POST', body: String(n) }),
    };
    const found: number[] = [];
    for (let round = 0; round < WARMING_ROUNDS + pace.rounds; round++) {
      const ours = await measure({ side, library }, operation, pace.seconds);
      const theirs = await measure({ side: { used }, library }, bare, pace.seconds);
      if (round >= WARMING_ROUNDS) found.push(sumOf(ours) / sumOf(theirs));
    }
    ratios.push(median(found));
  }
  return ratios;
}

async function startFloor(databaseUrl: string) {
  const child = startChild([process.execPath, join(import.meta.dir, 'floor.ts'), databaseUrl]);
  const port = await eventually('the floor', () => /^(\d+)\n/.exec(child.output())?.[1]);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, [Symbol.asyncDispose]: () => child.stop() };
}
