// The price of each step from the pass-through to the product, all servers of one run, asked in turn. Of the rounds the better
// quartile counts: whatever else the machine does only adds.

import { join } from 'node:path';
import { createKeyText } from '../../src/access/key-text.ts';
import { eventually, freePort } from '../../test/support/child.ts';
import { printTable, whole } from '../lib/report.ts';
import { ADDS, RUNGS } from './rungs.ts';
import { ENVIRONMENT, type Measured, type Setting, type Side, send } from './setting.ts';
import { BODY } from './small.ts';

/** Requests after which the runtime has compiled what they run. */
const WARM_UP = 20_000;
/** Of a round: short, so that some rounds are not disturbed. */
const REQUESTS = 1500;
const FLIGHTS = [16, 64] as const;

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
  // What the upstream itself takes: without it nothing can be said of what is added.
  const sides: Side[] = [setting.sides.mock];
  for (const name of RUNGS) sides.push(await startRung(name, setting));
  sides.push(setting.sides.gateway);
  for (const side of sides) await send(setting, side, { body: BODY, flight: 16, count: WARM_UP });
  for (const flight of FLIGHTS)
    printLadder(flight, pace.rounds, await climb(setting, sides, { flight, rounds: pace.rounds }));
}

/** What was measured of each side, in rounds that take turns. */
async function climb(
  setting: Setting,
  sides: readonly Side[],
  { flight, rounds }: { flight: number; rounds: number },
): Promise<Measured[][]> {
  const measured = sides.map((): Measured[] => []);
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < sides.length; turn++) {
      // Each begins as often as any other.
      const at = (round + turn) % sides.length;
      measured[at]?.push(await send(setting, sides[at] as Side, { body: BODY, flight, count: REQUESTS }));
    }
  return measured;
}

type Step = Record<'micros' | 'perSecond' | 'p50' | 'p99', number>;

function printLadder(flight: number, rounds: number, measured: readonly (readonly Measured[])[]): void {
  const steps = measured.map(
    (each): Step => ({
      micros: quartile(each.map(({ microsPerRequest }) => microsPerRequest)),
      perSecond: -quartile(each.map(({ perSecond }) => -perSecond)),
      p50: quartile(each.map(({ p50 }) => p50)),
      p99: quartile(each.map(({ p99 }) => p99)),
    }),
  );
  const [upstream, floor] = steps;
  if (upstream === undefined || floor === undefined) throw new Error('a ladder begins with its floor');
  // The sender's own p99 is as long as the floor's, so that nothing can be said of what is added to it.
  const added = (step: Step): string =>
    step === upstream ? '' : multipleOf(step.p50 - upstream.p50, floor.p50 - upstream.p50);
  const rows = steps.map((step, at) => {
    const name = RUNGS[at - 1];
    const before = at > 1 ? steps[at - 1] : undefined;
    return [
      name ?? (at === 0 ? 'upstream alone' : 'the product'),
      step.micros.toFixed(1),
      before === undefined ? '' : (step.micros - before.micros).toFixed(1),
      step === upstream ? '' : multipleOf(step.micros, floor.micros),
      whole(step.perSecond),
      step === upstream ? '' : (step.perSecond / floor.perSecond).toFixed(2),
      step.p50.toFixed(2),
      added(step),
      step.p99.toFixed(2),
      step === upstream ? '' : multipleOf(step.p99, floor.p99),
      name === undefined ? OTHERS[at === 0 ? 'upstream' : 'product'] : ADDS[name],
    ];
  });
  printTable(
    `Small chat completions, ${flight} in flight, better quartile of ${rounds} rounds of ${REQUESTS} requests`,
    [
      'with',
      'processor µs',
      'step',
      'of the floor',
      'requests/s',
      'of the floor',
      'p50 ms',
      'added, of the floor',
      'p99 ms',
      'of the floor',
      'what it adds',
    ],
    rows,
  );
}

const OTHERS = {
  upstream: 'the mock, without anything before it',
  product: 'the rest of the service, in one process with it',
};

const multipleOf = (value: number, floor: number): string => `${(value / floor).toFixed(2)} ×`;

const quartile = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 4)] ?? Number.NaN;
