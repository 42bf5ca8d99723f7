// `bun run bench load --shape smoke|load|stress|spike|soak --area all|NAME --minutes N`: starts the service and an upstream, loads it
// in the shape, and writes what was measured as JSON, and k6's own page of the run. docs/operating/load-testing.md describes it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SHAPES } from '../lib/shapes.ts';
import { printSummary } from './print.ts';
import { runLoad } from './run.ts';
import { AREAS } from './weights.ts';

const OPTIONS = {
  shape: { type: 'string', default: 'smoke' },
  area: { type: 'string', default: 'all' },
  minutes: { type: 'string' },
  /** Iterations a second that count as the capacity; measured unless given. */
  capacity: { type: 'string' },
  out: { type: 'string', default: join(import.meta.dir, '../.data-load') },
} as const;

const USAGE = `Usage: bun run bench load --shape ${SHAPES.join('|')} --area all|${AREAS.join('|')} [--minutes N] [--capacity N] [--out FOLDER]`;

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const shape = SHAPES.find((name) => name === values.shape);
  const area = values.area === 'all' ? 'all' : AREAS.find((name) => name === values.area);
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  const capacity = values.capacity === undefined ? undefined : Number(values.capacity);
  if (shape === undefined || area === undefined || !isAmount(minutes) || !isAmount(capacity)) {
    console.error(USAGE);
    process.exit(2);
  }
  const folder = resolve(values.out);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${shape}-${area}`);
  const result = await runLoad({ shape, area, minutes, capacity, report: `${file}.html` });
  printSummary(result);
  writeFileSync(`${file}.json`, JSON.stringify(result, null, 2));
  console.log(`\n${file}.json\n${file}.html`);
  if (result.broken.length > 0) process.exit(1);
}

const isAmount = (value: number | undefined): boolean => value === undefined || value > 0;
