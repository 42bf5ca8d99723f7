// The groups of the tests. Each file is in exactly one; what it imports decides whether it starts a server.

import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');

/**
 * `unit` starts no process; `integration` has databases and servers of its own and looks at parts of the service; `browser`
 * drives Chromium, and is skipped by name where there is none.
 */
export const GROUPS = ['unit', 'integration', 'acceptance', 'browser', 'faults'] as const;
export type Group = (typeof GROUPS)[number];

export const isGroup = (name: string): name is Group => GROUPS.some((group) => group === name);

/** Whoever imports one of them starts a process. */
const STARTERS = ['test/support/child.ts', 'test/support/database.ts', 'src/embedded/postgres/server.ts'];

/** The files of a group, as paths from the root. */
export function filesOf(group: Group): string[] {
  const starts = createStarts();
  return [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)]
    .sort()
    .filter((path) => groupOf(path, starts) === group);
}

function groupOf(path: string, starts: (path: string) => boolean): Group {
  if (path.startsWith('test/acceptance/')) return 'acceptance';
  if (path.startsWith('test/browser/')) return 'browser';
  if (path.startsWith('test/faults/')) return 'faults';
  return starts(path) ? 'integration' : 'unit';
}

function createStarts(): (path: string) => boolean {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const known = new Map<string, boolean>();
  const starts = (path: string): boolean => {
    const answer = known.get(path);
    if (answer !== undefined) return answer;
    // Until it is known, so that a circle ends.
    known.set(path, false);
    const text = readFileSync(join(ROOT, path), 'utf8');
    const found =
      STARTERS.includes(path) ||
      /\bBun\.spawn(Sync)?\(/.test(path.startsWith('test/') ? text : '') ||
      transpiler
        .scanImports(text)
        .filter(({ path: request }) => request.startsWith('.') && request.endsWith('.ts'))
        .some(({ path: request }) => starts(relative(ROOT, resolve(ROOT, dirname(path), request))));
    known.set(path, found);
    return found;
  };
  return starts;
}
