/** The folder that holds everything embedded, and the lock that makes one process its owner. */

import { accessSync, constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type DiskFault, diskFaultOf } from '../core/disk-fault.ts';
import { makeFolder } from '../core/durable.ts';
import { messageOf } from '../core/errors.ts';
import { type FileLock, lockFile } from '../core/file-lock.ts';

export type DataFolder = {
  /** Absolute path. */
  path: string;
  /** Gives the lock back. */
  close: () => void;
};

/** Subfolders that the service writes to in every configuration. */
const FOLDERS = ['postgres', 'object-store', 'events'];

/**
 * Creates the folder (0700) if it is absent, and checks by writing that it accepts files. Otherwise the error would end the
 * start later, with a message of the part that meets it first.
 *
 * @throws Error of one line with the folder, the reason and the remedy.
 */
export function checkDataFolder(path: string): void {
  const folder = resolve(path);
  const trial = join(folder, `writable.${process.pid}`);
  try {
    makeFolder(folder);
    writeFileSync(trial, 'It can be removed.\n', { mode: 0o600, flush: true });
    rmSync(trial);
  } catch (cause) {
    removeIfPossible(trial);
    throw cannotWrite(folder, cause);
  }
  for (const within of FOLDERS.map((name) => join(folder, name)).filter(existsSync)) {
    try {
      accessSync(within, constants.W_OK | constants.X_OK);
    } catch (cause) {
      throw cannotWrite(within, cause);
    }
  }
}

function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The original cause is reported.
  }
}

function cannotWrite(folder: string, cause: unknown): Error {
  const fault = diskFaultOf(cause);
  const [reason, remedy] =
    fault === undefined
      ? [messageOf(cause), 'Set']
      : [REASONS[fault](folder), `${REMEDIES[fault](folder)}, or set`];
  return new Error(`DATA_DIR: ${folder} cannot be written: ${reason}. ${remedy} DATA_DIR to another folder`, {
    cause,
  });
}

type Words = Record<DiskFault, (folder: string) => string>;

const ourselves = (): string => `user ${process.geteuid?.()}`;

const REASONS: Words = {
  'is full': () => 'its disk is full',
  'is read-only': () => 'its file system is read-only',
  'may not be written to by this user': (folder) => {
    const { path, uid } = nearestFolder(folder);
    return `${path} belongs to user ${uid}, and this is ${ourselves()}`;
  },
  fails: () => 'its disk fails',
  hangs: () => 'its disk hangs',
};

const REMEDIES: Words = {
  'is full': () => 'Free some room on it',
  'is read-only': () => 'Mount it for writing',
  'may not be written to by this user': (folder) => `Give ${folder} to ${ourselves()} (chown -R)`,
  fails: () => "See what the system's log says of it",
  hangs: () => 'See whether its server answers',
};

/** The folder, or the existing folder in which it would be created. */
function nearestFolder(path: string): { path: string; uid: number } {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? nearestFolder(dirname(path)) : { path, uid: found.uid };
}

/**
 * Locks the folder for this process, once it is known to be writable.
 *
 * The lock is that of the file `lock` (core/file-lock.ts). `lock.pid` only serves the message.
 *
 * @throws Error of one line, as `checkDataFolder`, or with the process that holds it.
 */
export function openDataFolder(path: string): DataFolder {
  const folder = resolve(path);
  const pidFile = join(folder, 'lock.pid');
  checkDataFolder(folder);
  const lock = acquireLock(folder, pidFile);
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    path: folder,
    close() {
      rmSync(pidFile, { force: true });
      lock.release();
    },
  };
}

/** Whether a process has locked the folder. */
export function isInUse(path: string): boolean {
  const file = join(resolve(path), 'lock');
  if (!existsSync(file)) return false;
  const lock = lockFile(file, { create: false });
  lock?.release();
  return lock === undefined;
}

function acquireLock(folder: string, pidFile: string): FileLock {
  let lock: FileLock | undefined;
  try {
    lock = lockFile(join(folder, 'lock'), { create: true });
  } catch (cause) {
    throw new Error(`The data folder ${folder} can't be locked: ${messageOf(cause)}`, { cause });
  }
  if (lock === undefined) throw new Error(`The data folder ${folder} is in use by ${holderOf(pidFile)}`);
  return lock;
}

function holderOf(pidFile: string): string {
  const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : Number.NaN;
  return Number.isNaN(pid) ? 'another process' : `process ${pid}`;
}
