import { memoryMiB, resetPeak } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import { type Setting, send } from './setting.ts';

const LARGE_BYTES = 5_000_000;

const bodyOf = (text: string): string =>
  JSON.stringify({ messages: [{ role: 'user', content: text }], model: 'fast', temperature: 0.7 });

/** What a large body adds to the memory, and whether very many small ones leave anything behind. */
export async function measureMemory(setting: Setting, requests: number): Promise<void> {
  const { gateway } = setting.sides;
  await send(setting, gateway, { body: bodyOf('hello'), flight: 16, seconds: 5 });
  const start = memoryMiB(gateway.pid).now;
  const samples: number[] = [];
  for (let part = 0; part < 10; part++) {
    await send(setting, gateway, { body: bodyOf('hello'), flight: 64, count: Math.ceil(requests / 10) });
    samples.push(memoryMiB(gateway.pid).now);
  }
  printTable(
    `Resident memory over ${whole(requests)} requests`,
    ['start', 'peak', 'end', 'after each tenth'],
    [
      [
        `${whole(start)} MiB`,
        `${whole(Math.max(...samples))} MiB`,
        `${whole(samples.at(-1) ?? 0)} MiB`,
        samples.map(whole).join(' '),
      ],
    ],
  );

  await Bun.sleep(3000);
  await resetPeak(gateway.pid);
  const before = memoryMiB(gateway.pid).now;
  await send(setting, gateway, { body: bodyOf('x'.repeat(LARGE_BYTES)), flight: 1, count: 1 });
  const { peak } = memoryMiB(gateway.pid);
  const added = peak - before;
  const copies = (added * 1_048_576) / LARGE_BYTES;
  printTable(
    'One request of 5 MB',
    ['before', 'peak', 'added', 'target'],
    [
      [
        `${whole(before)} MiB`,
        `${whole(peak)} MiB`,
        `${added.toFixed(1)} MiB, ${copies.toFixed(1)} copies`,
        `≤ 2 copies: ${copies <= 2 ? 'met' : '**missed**'}`,
      ],
    ],
  );
}
