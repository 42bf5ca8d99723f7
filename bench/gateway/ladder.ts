// The price of each step from the pass-through to the product, all servers of one run, asked in turn. Of the rounds the lower quartile
// counts: whatever else the machine does only adds.

import { join } from 'node:path';
import { createKeyText } from '../../src/access/key-text.ts';
import { eventually, freePort } from '../../test/support/child.ts';
import { printTable } from '../lib/report.ts';
import { ADDS, RUNGS } from './rungs.ts';
import { ENVIRONMENT, type Measured, type Setting, type Side, send } from './setting.ts';
import { BODY } from './small.ts';

/** Requests after which the runtime has compiled what they run. */
const WARM_UP = 20_000;
/** Of a round: short, so that some rounds are not disturbed. */
const REQUESTS = 1500;
const FLIGHT = 16;

async function startRung(name: string, { folder, sides }: Setting): Promise<Side> {
  const port = freePort();
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'rung.ts'), name, String(port), sides.mock.url, folder],
    { env: { ...process.env, ...ENVIRONMENT }, stdio: ['ignore', Bun.file('/dev/null'), 'inherit'] },
  );
  process.on('exit', () => child.kill());
  const side = { name, url: `http://127.0.0.1:${port}`, pid: child.pid, key: createKeyText() };
  await eventually(name, () =>
    fetch(side.url).then(
      () => true,
      () => false,
    ),
  );
  return side;
}

export async function measureLadder(setting: Setting, pace: { rounds: number }): Promise<void> {
  const sides: Side[] = [];
  for (const name of RUNGS) sides.push(await startRung(name, setting));
  sides.push(setting.sides.gateway);
  const rounds = sides.map((): Measured[] => []);
  for (const side of sides) await send(setting, side, { body: BODY, flight: FLIGHT, count: WARM_UP });
  for (let round = 0; round < pace.rounds; round++)
    for (let turn = 0; turn < sides.length; turn++) {
      // Each begins as often as any other.
      const at = (round + turn) % sides.length;
      const side = sides[at] as Side;
      rounds[at]?.push(await send(setting, side, { body: BODY, flight: FLIGHT, count: REQUESTS }));
    }
  const micros = rounds.map((measured) => quartile(measured.map(({ microsPerRequest }) => microsPerRequest)));
  const [floor = 0] = micros;
  const rows = rounds.map((measured, at) => {
    const [name, own = 0] = [RUNGS[at], micros[at]];
    const step = at === 0 ? '' : (own - (micros[at - 1] ?? 0)).toFixed(1);
    return [
      name ?? 'the product',
      own.toFixed(1),
      step,
      `${(own / floor).toFixed(2)} ×`,
      quartile(measured.map(({ p50 }) => p50)).toFixed(2),
      name === undefined ? 'the rest of the service, in one process with it' : ADDS[name],
    ];
  });
  printTable(
    `Small chat completions, ${FLIGHT} in flight, lower quartile of ${pace.rounds} rounds of ${REQUESTS} requests`,
    ['with', 'processor µs', 'step', 'of the floor', 'p50 ms', 'what it adds'],
    rows,
  );
}

const quartile = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 4)] ?? Number.NaN;
