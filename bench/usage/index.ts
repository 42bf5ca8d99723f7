// Usage events: how fast they are taken and stored, how soon they are readable, what pages cost in the depth, and
// what an outage of the database does.

import { parseArgs } from 'node:util';
import { measureIngestion } from './ingestion.ts';
import { measureOutage } from './outage.ts';
import { measureRetrieval } from './retrieval.ts';
import type { BufferName } from './setting.ts';

const PARTS = ['ingestion', 'retrieval', 'outage'] as const;
const BUFFERS: readonly BufferName[] = ['journal', 'JetStream'];

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      parts: { type: 'string', default: PARTS.join(',') },
      buffers: { type: 'string', default: BUFFERS.join(',') },
      seconds: { type: 'string', default: '20' },
      outage: { type: 'string', default: '300' },
    },
  });
  const parts = values.parts.split(',');
  const buffers = BUFFERS.filter((buffer) => values.buffers.split(',').includes(buffer));
  if (parts.includes('ingestion')) await measureIngestion(buffers, Number(values.seconds));
  if (parts.includes('retrieval')) await measureRetrieval();
  if (parts.includes('outage')) await measureOutage(buffers, Number(values.outage));
}
