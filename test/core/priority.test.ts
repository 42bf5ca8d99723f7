import { expect, test } from 'bun:test';
import { join } from 'node:path';

const PRIORITY = join(import.meta.dir, '../../src/core/priority.ts');

/** What the script prints, in a process of its own: a priority that was lowered stays so. */
async function printed(script: string): Promise<unknown> {
  const child = Bun.spawn([process.execPath, '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(await new Response(child.stdout).text());
}

// Elsewhere a priority belongs to the process.
test.if(process.platform === 'linux')(
  'all threads have the lower priority, also those that compress and read files already',
  async () => {
    const niceness = await printed(`
      import { readdirSync } from 'node:fs';
      import { readFile } from 'node:fs/promises';
      import { getPriority } from 'node:os';
      import { lowerPriority } from ${JSON.stringify(PRIORITY)};
      const work = () => Promise.all(Array.from({ length: 20 }, () => readFile('/proc/self/stat')));
      const threads = () => readdirSync('/proc/self/task').map(Number);
      await work();
      const before = threads().length;
      lowerPriority(5);
      lowerPriority(3);
      await work();
      console.log(JSON.stringify([before > 1, ...new Set(threads().map((thread) => getPriority(thread)))]));`);
    expect(niceness).toEqual([true, 5]);
  },
);
