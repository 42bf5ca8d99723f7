// The groups of the tests. Each file is in exactly one; what it imports decides whether it starts a server.
// Across the groups, `bun run test` runs the quick files, and `bun run test:all` the others after them.

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

/** A file that took longer in the run that `test/timings.json` records is left to `bun run test:all`. */
const QUICK_MS_MAX = 20_000;

/** Files that import one of these need a server or a tool that is not among the packages. */
const REAL_SERVERS = [
  'dockerfile',
  'faulty-disk',
  'go-programs',
  'nats-server',
  'object-stores',
  'pgbouncer',
  'pgvector',
  'promtool',
  'python-sdk',
].map((name) => `test/support/${name}.ts`);

/** Whoever imports one of them starts a process. */
const STARTERS = ['test/support/child.ts', 'test/support/database.ts', 'src/embedded/postgres/server.ts'];

/** The files of a group, as paths from the root. */
export function filesOf(group: Group): string[] {
  const starts = createReaches(STARTERS, { orSpawns: true });
  return allFiles().filter((path) => groupOf(path, starts) === group);
}

/** Those that a developer waits for: on embedded parts, without a browser, faults and long files. */
export function quickFiles(timings: Readonly<Record<string, number>>): string[] {
  const needsServers = createReaches(REAL_SERVERS);
  return allFiles().filter((path) => {
    if (path.startsWith('test/browser/') || path.startsWith('test/faults/')) return false;
    if ((timings[path] ?? 0) > QUICK_MS_MAX) return false;
    // Acceptance tests run on embedded parts first, and skip the servers that are missing by name.
    return path.startsWith('test/acceptance/') || !needsServers(path);
  });
}

/** Every test file, as a path from the root. */
export const allFiles = (): string[] => [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)].sort();

function groupOf(path: string, starts: (path: string) => boolean): Group {
  if (path.startsWith('test/acceptance/')) return 'acceptance';
  if (path.startsWith('test/browser/')) return 'browser';
  if (path.startsWith('test/faults/')) return 'faults';
  return starts(path) ? 'integration' : 'unit';
}

/** Returns whether a file is, or imports, one of `targets`; `orSpawns` counts tests that start a process themselves. */
function createReaches(targets: readonly string[], { orSpawns = false } = {}): (path: string) => boolean {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const known = new Map<string, boolean>();
  const reaches = (path: string): boolean => {
    const answer = known.get(path);
    if (answer !== undefined) return answer;
    // Until it is known, so that a circle ends.
    known.set(path, false);
    const text = readFileSync(join(ROOT, path), 'utf8');
    const found =
      targets.includes(path) ||
      (orSpawns && path.startsWith('test/') && /\bBun\.spawn(Sync)?\(/.test(text)) ||
      transpiler
        .scanImports(text)
        .filter(({ path: request }) => request.startsWith('.') && request.endsWith('.ts'))
        .some(({ path: request }) => reaches(relative(ROOT, resolve(ROOT, dirname(path), request))));
    known.set(path, found);
    return found;
  };
  return reaches;
}
