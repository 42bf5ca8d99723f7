// Compute: the kernels beside C and beside each other, embeddings over HTTP, and what the event loop notices of it all.

import { parseArgs } from 'node:util';
import { measureEmbeddings } from './embeddings.ts';
import { measureIsolation, measureLeaving, measureShort } from './isolation.ts';
import { measureKernels } from './kernels.ts';

const PARTS = ['kernels', 'embeddings', 'leaving', 'short', 'isolation'] as const;

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { parts: { type: 'string', default: PARTS.join(',') } },
  });
  const parts = values.parts.split(',');
  if (parts.includes('kernels')) await measureKernels();
  if (parts.includes('embeddings')) await measureEmbeddings();
  if (parts.includes('leaving')) await measureLeaving();
  if (parts.includes('short')) await measureShort();
  if (parts.includes('isolation')) await measureIsolation();
}
