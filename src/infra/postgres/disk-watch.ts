// Whether the server's disk takes what statements write. The server can serve reads, and writes into pages that it has, while
// others fail.

import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';
import type { Transaction } from './sql-with-timeout.ts';

/** The server keeps so many rows in a temporary file where it may use but this much memory. */
const ROWS = 20_000;
const MEMORY = '64kB';

export type DiskWatch = ReturnType<typeof createDiskWatch>;

export function createDiskWatch(begin: <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>) {
  let known: DiskFault | undefined;
  let running: Promise<DiskFault | undefined> | undefined;
  const faultOf = (error: unknown): DiskFault | undefined =>
    error instanceof Error && 'severity' in error ? diskFaultOf(error) : undefined;
  const probe = async (): Promise<DiskFault | undefined> => {
    try {
      await begin(async (tx) => {
        await tx`SELECT set_config('work_mem', ${MEMORY}, true)`;
        await tx`SELECT count(*) FROM generate_series(1, ${ROWS})`;
      });
      known = undefined;
    } catch (error) {
      if (faultOf(error) === undefined) throw error;
      known = faultOf(error);
    }
    return known;
  };
  return {
    /** Takes note of a statement's error. */
    onFailure(error: unknown): void {
      known = faultOf(error) ?? known;
    },
    /**
     * What the disk does, known from statements that failed for it; undefined where none did. Over once the server can write a
     * temporary file again, which is tried by each call and changes nothing. Rejects where the database is away.
     */
    async fault(): Promise<DiskFault | undefined> {
      if (known === undefined) return undefined;
      running ??= probe().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}
