// What recording an event of the service's own adds to a request.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRecord } from '../../src/usage/record.ts';
import { createSpool } from '../../src/usage/spool.ts';
import { silentLog } from '../../test/support/database.ts';
import { printTable } from '../lib/report.ts';

const EVENTS = 100_000;
const TARGET_MICROS = 5;

export async function measureEmission(): Promise<void> {
  const directory = mkdtempSync(join(import.meta.dir, '../.data-usage-'));
  const spool = createSpool({ directory, appender: { append: async () => undefined }, log: silentLog });
  const { record } = createRecord({ spool, log: silentLog });
  const event = {
    workspaceId: 'bench',
    type: 'model.usage',
    subject: 'person-17@example.com',
    data: { value: 1, key_id: 'key-17', model: 'model-4', requests: 1 },
    eventId: 'file-17',
    time: new Date(),
  };
  await spool.job.start();
  const micros: number[] = [];
  for (let round = 0; round < 10; round++) {
    const startedAt = performance.now();
    for (let index = 0; index < EVENTS / 10; index++) record(event);
    micros.push(((performance.now() - startedAt) * 1000) / (EVENTS / 10));
    await Bun.sleep(50);
  }
  await spool.job.stop();
  rmSync(directory, { recursive: true, force: true });
  const median = micros.toSorted((a, b) => a - b)[5] ?? 0;
  printTable(
    'Recording an event of the service',
    ['µs an event (median of 10 × 10,000)', 'target'],
    [[median.toFixed(1), `≤ ${TARGET_MICROS} µs: ${median <= TARGET_MICROS ? 'met' : '**missed**'}`]],
  );
}
