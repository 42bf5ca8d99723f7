// Errors of a disk, by their codes, as messages for operators.

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './errors.ts';
import { within } from './wait.ts';

export type DiskFault = 'is full' | 'is read-only' | 'may not be written to by this user' | 'fails' | 'hangs';

/** A call of the disk has not returned in time. It may still succeed. */
export class DiskHangs extends Error {
  readonly code = 'DISK_HANGS';

  constructor() {
    super('the disk hangs');
    this.name = 'DiskHangs';
  }
}

/** The header of the embedded store's answer to HeadBucket that says why it refuses uploads. */
export const DISK_FAULT_HEADER = 'x-atrium-disk-fault';

const FAULTS: Readonly<Record<string, DiskFault>> = {
  ENOSPC: 'is full',
  EDQUOT: 'is full',
  SQLITE_FULL: 'is full',
  EROFS: 'is read-only',
  SQLITE_READONLY: 'is read-only',
  EACCES: 'may not be written to by this user',
  EPERM: 'may not be written to by this user',
  SQLITE_PERM: 'may not be written to by this user',
  EIO: 'fails',
  ENXIO: 'fails',
  ENODEV: 'fails',
  ESTALE: 'fails',
  SQLITE_IOERR: 'fails',
  SQLITE_CANTOPEN: 'fails',
  // PostgreSQL's disk_full and io_error.
  '53100': 'is full',
  '58030': 'fails',
  DISK_HANGS: 'hangs',
  // Of a thread that works with files.
  THREAD_OVERDUE: 'hangs',
};

/** The predicate of "The disk …"; undefined for other errors. SQLite's extended codes begin with the code. */
export function diskFaultOf(error: unknown): DiskFault | undefined {
  const code = codeOf(error);
  const primary = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code;
  return FAULTS[primary];
}

/** A small write that takes longer has met a disk that hangs. */
const PROBE_MS_MAX = 500;

/**
 * Probes a disk by a small durable write in a folder; undefined after success, and where the folder is absent. One probe runs
 * at a time, also on a disk that hangs.
 */
export function createDiskProbe(folder: string): () => Promise<DiskFault | undefined> {
  const path = join(folder, `.probe-${process.pid}`);
  let running: Promise<DiskFault | undefined> | undefined;
  const probe = async (): Promise<DiskFault | undefined> => {
    try {
      await writeFile(path, 'written by the probe of the disk', { mode: 0o600, flush: true });
      await rm(path);
      return undefined;
    } catch (error) {
      return diskFaultOf(error);
    }
  };
  return () => {
    running ??= probe().finally(() => {
      running = undefined;
    });
    return within(running, PROBE_MS_MAX, () => 'hangs');
  };
}
