import { multiple, printTable, whole } from '../lib/report.ts';
import { type Measured, median, type Setting, type SideName, send } from './setting.ts';

const SIDES: readonly SideName[] = ['mock', 'floor', 'gateway'];

/** Of the floor's requests a second. */
const GOAL = 0.45;

const BODY = JSON.stringify({
  model: 'fast',
  messages: [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: 'Say hello to everyone who reads this, in a single sentence.' },
  ],
  temperature: 0.7,
});

type Pace = { seconds: number; rounds: number };

/** Each side in turn, after a while to warm up; and what the gateway is of the floor, by the medians of the rounds. */
async function compareSmall(setting: Setting, flight: number, pace: Pace) {
  const measured: Record<SideName, Measured[]> = { mock: [], floor: [], gateway: [] };
  for (const name of SIDES) await send(setting, setting.sides[name], { body: BODY, flight, seconds: 2 });
  for (let round = 0; round < pace.rounds; round++) {
    for (const name of SIDES)
      measured[name].push(
        await send(setting, setting.sides[name], { body: BODY, flight, seconds: pace.seconds }),
      );
  }
  const ratio = (value: (each: Measured) => number): number =>
    median(measured.gateway.map((each, index) => value(each) / value(measured.floor[index] ?? each)));
  return {
    measured,
    throughput: ratio(({ perSecond }) => perSecond),
    processor: ratio(({ microsPerRequest }) => microsPerRequest),
  };
}

/** Small chat completions with a key that has every limit, and accounting on. */
export async function measureSmall(setting: Setting, pace: Pace): Promise<void> {
  const rows: string[][] = [];
  for (const flight of [16, 64]) {
    const { measured, throughput, processor } = await compareSmall(setting, flight, pace);
    const of = (name: SideName, value: (each: Measured) => number): number =>
      median(measured[name].map(value));
    for (const name of SIDES) {
      rows.push([
        String(flight),
        name,
        whole(of(name, ({ perSecond }) => perSecond)),
        of(name, ({ microsPerRequest }) => microsPerRequest).toFixed(1),
        of(name, ({ p50 }) => p50).toFixed(3),
        of(name, ({ p99 }) => p99).toFixed(2),
      ]);
    }
    const direct = of('mock', ({ p50 }) => p50);
    const added = (of('gateway', ({ p50 }) => p50) - direct) / (of('floor', ({ p50 }) => p50) - direct);
    rows.push([
      String(flight),
      'gateway ÷ floor',
      `${throughput.toFixed(2)} (≥ ${GOAL}: ${throughput >= GOAL ? 'met' : '**missed**'})`,
      multiple(processor),
      `added ${multiple(added)}`,
      '',
    ]);
  }
  printTable(
    'Small chat completions',
    ['in flight', '', 'requests/s', 'processor µs/request', 'p50 ms', 'p99 ms'],
    rows,
  );
}
