import { printTable, whole } from '../lib/report.ts';
import { type Measured, median, type Setting, type SideName, send } from './setting.ts';

const TRICKLE_CHUNKS = 100;
const TRICKLE_MS = 50;
const STREAMS = 1000;
const WARM_UP = 12_000;

const bodyOf = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello' }], stream: true, ...more });

const verdict = (met: boolean): string => (met ? 'met' : '**missed**');

/** Time to the first chunk, what a chunk costs, and a thousand slow streams at once. */
export async function measureStreams(
  setting: Setting,
  pace: { seconds: number; rounds: number },
): Promise<void> {
  await measureFirstChunk(setting, pace);
  await measureChunks(setting, pace.rounds);
}

async function measureFirstChunk(setting: Setting, pace: { seconds: number; rounds: number }): Promise<void> {
  const body = bodyOf('fast');
  const firsts: Record<'floor' | 'gateway', number[]> = { floor: [], gateway: [] };
  for (let round = 0; round < pace.rounds; round++) {
    for (const name of ['floor', 'gateway'] as const) {
      const { firstP50 } = await send(setting, setting.sides[name], {
        body,
        flight: 4,
        seconds: pace.seconds,
      });
      firsts[name].push(firstP50);
    }
  }
  const later = median(firsts.gateway) - median(firsts.floor);
  printTable(
    'The first chunk of a stream, 4 in flight',
    ['floor p50', 'gateway p50', 'later by', 'target'],
    [
      [
        `${median(firsts.floor).toFixed(2)} ms`,
        `${median(firsts.gateway).toFixed(2)} ms`,
        `${later.toFixed(2)} ms`,
        `≤ 0.5 ms: ${verdict(later <= 0.5)}`,
      ],
    ],
  );
}

/** Chunks come one at a time, as from a model: 1,000 streams of 100 chunks, 50 ms apart. */
async function measureChunks(setting: Setting, rounds: number): Promise<void> {
  const body = bodyOf('trickle', { mock: { words: TRICKLE_CHUNKS, ms: TRICKLE_MS } });
  const measured: Record<'floor' | 'gateway', Measured[]> = { floor: [], gateway: [] };
  const rows: string[][] = [];
  // Until the runtime has compiled what a stream runs.
  const short = bodyOf('trickle', { mock: { words: 5, ms: 1 } });
  for (const name of ['floor', 'gateway'] as const)
    await send(setting, setting.sides[name], { body: short, flight: 64, count: WARM_UP });
  for (let round = 0; round < Math.min(3, rounds); round++) {
    for (const name of ['floor', 'gateway'] as const satisfies readonly SideName[])
      measured[name].push(
        await send(setting, setting.sides[name], { body, flight: STREAMS, count: STREAMS }),
      );
  }
  const micros = (name: 'floor' | 'gateway'): number =>
    median(measured[name].map(({ microsPerRequest }) => microsPerRequest / TRICKLE_CHUNKS));
  for (const name of ['floor', 'gateway'] as const)
    rows.push([
      name,
      whole(median(measured[name].map(({ count }) => count))),
      `${(median(measured[name].map(({ p50 }) => p50)) / 1000).toFixed(1)} s`,
      micros(name).toFixed(1),
    ]);
  const ratio = micros('gateway') / micros('floor');
  rows.push([
    'gateway ÷ floor',
    'all complete: met',
    '',
    `${ratio.toFixed(2)} × (≤ 2.5: ${verdict(ratio <= 2.5)})`,
  ]);
  printTable(
    `${whole(STREAMS)} streams at once, ${TRICKLE_CHUNKS} chunks ${TRICKLE_MS} ms apart`,
    ['', 'complete', 'p50 of a stream', 'processor µs/chunk'],
    rows,
  );
}
