// The model gateway against a pass-through that does nothing else, both before the same mock, asked in turn.

import { parseArgs } from 'node:util';
import { startSetting } from './setting.ts';
import { measureSmall } from './small.ts';
import { measureStreams } from './streams.ts';

const PARTS = ['small', 'streams'] as const;

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      parts: { type: 'string', default: PARTS.join(',') },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
    },
  });
  const parts = values.parts.split(',');
  const pace = { seconds: Number(values.seconds), rounds: Number(values.rounds) };
  await using setting = await startSetting();
  if (parts.includes('small')) await measureSmall(setting, pace);
  if (parts.includes('streams')) await measureStreams(setting, pace);
}
