// `bun run bench <area>`: prints what it measured, as ratios against a floor of the same run.

import { run as chat } from './chat/index.ts';
import { run as documents } from './documents/index.ts';
import { run as everyday } from './everyday/index.ts';
import { run as files } from './files/index.ts';
import { run as gateway } from './gateway/index.ts';
import { run as hostile } from './hostile/index.ts';
import { run as knowledge } from './knowledge/index.ts';
import { run as load } from './load/index.ts';
import { run as overload } from './overload/index.ts';
import { run as reading } from './reading/index.ts';
import { run as retrieval } from './retrieval/index.ts';
import { run as search } from './search/index.ts';
import { run as start } from './start/index.ts';
import { run as usage } from './usage/index.ts';

const AREAS: Record<string, () => Promise<void>> = {
  chat,
  documents,
  everyday,
  files,
  gateway,
  hostile,
  knowledge,
  load,
  overload,
  reading,
  retrieval,
  search,
  start,
  usage,
};

const run = AREAS[process.argv[2] ?? ''];
if (run === undefined) {
  console.error(`Usage: bun run bench ${Object.keys(AREAS).join('|')}`);
  process.exit(2);
}
// What a bench has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
await run();
process.exit();
