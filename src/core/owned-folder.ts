// A folder in which each process has files of its own, and takes over those of a process that has died. Its lock shows whether
// it has died: a process that hangs, or whose clock was set, keeps its files.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './durable.ts';
import { type FileLock, lockFile } from './file-lock.ts';
import { newRandomId } from './ids.ts';

export type OwnedFolder = {
  /**
   * A name for a new file of this process, without its suffix. The first one makes the folder and the lock. Throws the
   * error of the disk.
   */
  newName(): string;
  /** The files of processes that have died. A file of a running process is never among them. Throws the error of the disk. */
  abandoned(): string[];
  /** This process adds no more files; another one may take over those that it leaves. */
  leave(): void;
};

const LOCK = '.lock';
/** Somebody who looks for the dead may have the lock for a moment before its own process does. */
const ATTEMPTS_MAX = 3;

export function createOwnedFolder(directory: string): OwnedFolder {
  const lockPath = (id: string): string => join(directory, `${id}${LOCK}`);
  /** Of this process, also those whose folder somebody has deleted. */
  const own = new Set<string>();
  let held: { id: string; lock: FileLock } | undefined;
  let names = 0;

  const hold = (): { id: string; lock: FileLock } => {
    makeFolder(directory);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const id = newRandomId();
      const lock = lockFile(lockPath(id), { create: true });
      // Only its process makes the file, so it is the locked one unless it is gone.
      if (lock !== undefined && existsSync(lockPath(id))) {
        own.add(id);
        return { id, lock };
      }
      lock?.release();
    }
    throw new Error(`no lock can be had in ${directory}`);
  };
  const leave = (): void => {
    if (held === undefined) return;
    try {
      rmSync(lockPath(held.id), { force: true });
    } catch {
      // Others remove it: it is free from here on.
    }
    held.lock.release();
    held = undefined;
  };
  const hasDied = (id: string): boolean => {
    if (own.has(id)) return false;
    if (!existsSync(lockPath(id))) return true;
    try {
      const lock = lockFile(lockPath(id), { create: false });
      if (lock === undefined) return false;
      rmSync(lockPath(id), { force: true });
      lock.release();
      return true;
    } catch {
      // Another has found out at the same moment; where the lock cannot be tried, nothing is taken.
      return !existsSync(lockPath(id));
    }
  };

  return {
    newName() {
      // Any process could take files beside a lock that is gone.
      if (held !== undefined && !existsSync(lockPath(held.id))) leave();
      held ??= hold();
      return `${held.id}-${++names}`;
    },
    abandoned() {
      if (!existsSync(directory)) return [];
      const all = readdirSync(directory).map((name) => ({ name, id: ownerOf(name) }));
      const dead = new Set([...new Set(all.map(({ id }) => id))].filter(hasDied));
      return all.filter(({ name, id }) => dead.has(id) && !name.endsWith(LOCK)).map(({ name }) => name);
    },
    leave,
  };
}

/** `<id>-<number>.<suffix>`, and `<id>.lock`. */
const ownerOf = (name: string): string => name.replace(/(?:-\d+)?\.\w+$/, '');
