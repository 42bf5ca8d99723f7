// Opens the store: the remains of a crash, or of a copy during operation, are found before anything is served. Its
// background jobs are snapshots of the catalogue, and the removal of files set aside.

import { existsSync, statSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../../core/durable.ts';
import { messageOf } from '../../core/errors.ts';
import { type Blobs, openBlobs, type Recovery, TooManyUnnamed } from './blobs.ts';
import { type Catalogue, openCatalogue } from './catalogue.ts';
import { createDiskCalls } from './disk-calls.ts';
import { limits } from './limits.ts';
import { createObjects } from './objects.ts';
import { isSnapshot, snapshotPath } from './snapshot.ts';

interface OpenOptions {
  /** For how long a file without a name is kept aside. */
  readonly retentionMs: number;
  /** However many files have no name: an operator has decided that the catalogue is right. */
  readonly takesUnnamed?: boolean;
  /** Called with failures outside of requests. */
  readonly onFault: (error: unknown) => void;
}

/** Opens or creates the store in `directory`, which no other process may have open, and tidies it. */
export async function openStore(directory: string, options: OpenOptions) {
  makeFolder(directory);
  await chmod(directory, 0o700);
  const path = join(directory, 'catalogue.sqlite');
  const snapshot = snapshotPath(directory);
  const disk = createDiskCalls({ msMax: limits.diskCallMsMax, runningMax: limits.diskCallsMax });
  const blobs = await openBlobs(directory, disk);
  if (!existsSync(path) && !(await blobs.isEmpty())) {
    // Going on would take them all for leftovers, as nothing names them.
    throw new Error(
      `${path} is missing, though there are objects: put it back, or move the folder away${hintOf(snapshot)}`,
    );
  }
  // All that was written after a snapshot has no name in it.
  const takesUnnamed = options.takesUnnamed === true || isSnapshot(path);
  const catalogue = await openCatalogue(path, disk).catch((error: unknown) => {
    throw new Error(`${messageOf(error)}${hintOf(snapshot)}`, { cause: error });
  });
  let recovery: Recovery;
  try {
    const unexplainedMax = takesUnnamed ? Number.POSITIVE_INFINITY : limits.unexplainedMax;
    const { isNamed, isPassing } = catalogue;
    recovery = await blobs.recover({ isNamed, isPassing, unexplainedMax });
  } catch (error) {
    await catalogue.close();
    if (!(error instanceof TooManyUnnamed)) throw error;
    throw new Error(
      `${error.message}, as in a copy that was taken while the service ran; nothing was changed` +
        `${hintOf(snapshot)}; where ${path} is right, bun run admin object-store set-aside`,
      { cause: error },
    );
  }
  catalogue.begin();
  await catalogue.durable();
  await syncFolder(directory);
  const upkeep = startUpkeep({ catalogue, blobs, snapshot, ...options });
  const objects = createObjects({ catalogue, blobs, disk });
  const close = (): Promise<void> => {
    upkeep.stop();
    return objects.close();
  };
  return { objects: { ...objects, close }, recovery };
}

function hintOf(snapshot: string): string {
  if (!existsSync(snapshot)) return '';
  return `; ${snapshot} is whole, of ${statSync(snapshot).mtime.toISOString()}: copy it over catalogue.sqlite`;
}

/** The first snapshot and the first check of files set aside happen at once. */
function startUpkeep(parts: {
  catalogue: Catalogue;
  blobs: Blobs;
  snapshot: string;
  retentionMs: number;
  onFault: (error: unknown) => void;
}): { stop(): void } {
  const { catalogue, blobs, snapshot, retentionMs, onFault } = parts;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const snap = async (): Promise<void> => {
    const startedAt = performance.now();
    // A snapshot begins with a write on this thread, which a disk that hangs would stop.
    await blobs
      .tryWrite()
      .then(() => catalogue.snapshot(snapshot))
      .catch(onFault);
    const pauseMs = (performance.now() - startedAt) * limits.snapshotPauseFactor;
    if (stopped) return;
    timer = setTimeout(() => void snap(), Math.max(limits.snapshotEveryMs, pauseMs));
  };
  const expire = (): void => void blobs.expire(retentionMs).catch(onFault);
  void snap();
  expire();
  const expiring = setInterval(expire, Math.min(limits.expireEveryMsMax, retentionMs));
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      clearInterval(expiring);
    },
  };
}
