// Errors of a disk, by their codes, in words that an operator understands.

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './errors.ts';

export type DiskFault = 'is full' | 'is read-only' | 'may not be written to by this user' | 'fails';

/** The header of the embedded store's answer to HeadBucket that says why it takes no uploads at the moment. */
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
};

/** "The disk …". Undefined for errors of other kinds. SQLite's extended codes begin with the code. */
export function diskFaultOf(error: unknown): DiskFault | undefined {
  const code = codeOf(error);
  const primary = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code;
  return FAULTS[primary];
}

/**
 * Tries a small durable write in a folder: what its disk says, undefined where it takes it or there is no such folder. Of
 * those that wait on a disk that hangs there is one at a time.
 */
export function createDiskProbe(folder: string): () => Promise<DiskFault | undefined> {
  const path = join(folder, `.probe-${process.pid}`);
  let running: Promise<DiskFault | undefined> | undefined;
  const probe = async (): Promise<DiskFault | undefined> => {
    try {
      await writeFile(path, 'written to see whether the disk takes it', { mode: 0o600, flush: true });
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
    return running;
  };
}
