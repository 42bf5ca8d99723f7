// Conversations: what a message costs beside its model, and how many go on at once.

import { parseArgs } from 'node:util';
import { measureConcurrency } from './concurrency.ts';
import { measureOwnTime } from './own-time.ts';

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      parts: { type: 'string', default: 'own,concurrency' },
      seconds: { type: 'string', default: '20' },
    },
  });
  const parts = values.parts.split(',');
  const seconds = Number(values.seconds);
  if (parts.includes('own')) await measureOwnTime(seconds);
  if (parts.includes('concurrency')) await measureConcurrency(seconds);
}
