// Events of the service itself that have no transaction as their cause: they are written to a file, and forwarded to
// the buffer from there. So recording costs a write to the page cache, never waits, and its events survive the process.

import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../core/durable.ts';
import type { AwaitRecorded } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createOwnedFolder } from '../core/owned-folder.ts';
import type { Appender } from './appender.ts';
import { SPOOL_ADOPT_MS, SPOOL_BYTES_MAX, SPOOL_FILE_BYTES_MAX, SPOOL_FLUSH_MS } from './limits.ts';
import { splitRows } from './row.ts';

export type Spool = {
  /** Keeps a row. Throws where the disk does not take it, or more wait than may. */
  add(row: Buffer): void;
  job: Job;
  awaitRecorded: AwaitRecorded;
  /** Bytes in closed files that wait for the buffer. */
  waitingBytes(): number;
};

/** `first`: how many rows there were before its first. */
type OpenFile = { path: string; descriptor: number; bytes: number; first: number };
type ClosedFile = { path: string; bytes: number };

const SUFFIX = '.events';
const RETRY_MS_MAX = 5000;
const SETTLE_POLL_MS = 5;
const FLUSHES_MAX = 3;

export function createSpool(deps: { directory: string; appender: Appender; log: Logger }): Spool {
  const { directory, appender, log } = deps;
  const folder = createOwnedFolder(directory);
  const closed: ClosedFile[] = [];
  let open: OpenFile | undefined;
  let waitingBytes = 0;
  /** Rows so far, and those of them that the buffer has or that are flushed. */
  let added = 0;
  let safe = 0;
  /** Bytes of waiting files that are flushed. */
  const synced = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let adoptTimer: ReturnType<typeof setInterval> | undefined;
  let flushing: Promise<void> | undefined;
  let failures = 0;
  const unreadable = new Set<string>();
  let stopping = false;

  const close = (): void => {
    if (open === undefined) return;
    const { path, bytes, descriptor } = open;
    open = undefined;
    closed.push({ path, bytes });
    waitingBytes += bytes;
    closeSync(descriptor);
  };
  const flushLater = (): void => {
    if (timer !== undefined || stopping) return;
    const delayMs = failures === 0 ? SPOOL_FLUSH_MS : Math.min(RETRY_MS_MAX, 2 ** failures * SPOOL_FLUSH_MS);
    timer = setTimeout(() => {
      timer = undefined;
      void flush();
    }, delayMs);
  };
  const flush = (): Promise<void> => {
    flushing ??= keep()
      .catch((error: unknown) => log.error({ err: error }, "the service's own events cannot be handed on"))
      .finally(() => {
        flushing = undefined;
        if (closed.length > 0 || open !== undefined) flushLater();
      });
    return flushing;
  };
  /** The buffer makes rows durable; those that it does not take are flushed where they are. */
  const keep = async (): Promise<void> => {
    const before = added;
    if (!(await handOn())) await syncWaiting();
    else if (open !== undefined) {
      safe = Math.max(safe, Math.min(before, open.first));
      return;
    }
    safe = Math.max(safe, before);
  };
  const syncWaiting = async (): Promise<void> => {
    const waiting = open === undefined ? closed : [...closed, open];
    for (const { path, bytes } of [...waiting]) {
      if (synced.get(path) === bytes || !existsSync(path)) continue;
      const file = await openFile(path, 'r');
      try {
        await file.datasync();
      } finally {
        await file.close();
      }
      synced.set(path, bytes);
    }
    await syncFolder(directory);
  };
  /** Every file that is closed, in order; while the buffer is away files fill up instead of becoming many. False: it is away. */
  const handOn = async (): Promise<boolean> => {
    if (failures === 0 || closed.length === 0) close();
    for (let file = closed[0]; file !== undefined; file = closed[0]) {
      const rows = read(file.path);
      try {
        if (rows.length > 0) await appender.append(rows);
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn({ err: error }, "the service's own events wait for the buffer");
        return false;
      }
      closed.shift();
      waitingBytes -= file.bytes;
      synced.delete(file.path);
      if (!unreadable.has(file.path)) rmSync(file.path, { force: true });
    }
    return true;
  };
  /** Nothing of a file that another process has handed on; one that cannot be read is left for an operator. */
  const read = (path: string): Buffer[] => {
    try {
      return existsSync(path) ? splitRows(readFileSync(path)) : [];
    } catch (error) {
      unreadable.add(path);
      log.error(
        { err: error, path },
        "a file of the service's own events cannot be read; it is left where it is",
      );
      return [];
    }
  };

  /** Files of processes that have died. Two who find one at the same moment both hand it on: twice is once. */
  const adopt = (): void => {
    for (const name of folder.abandoned().filter((each) => each.endsWith(SUFFIX))) {
      const path = join(directory, name);
      if (unreadable.has(path) || closed.some((file) => file.path === path)) continue;
      const bytes = statSync(path, { throwIfNoEntry: false })?.size;
      if (bytes === undefined) continue;
      closed.push({ path, bytes });
      waitingBytes += bytes;
    }
    if (closed.length > 0) flushLater();
  };
  /** Nothing is ever written behind half a row, which would hide it. */
  const writeWhole = (file: OpenFile, row: Buffer): void => {
    try {
      if (writeSync(file.descriptor, row) < row.length) throw new Error('the disk is full');
      file.bytes += row.length;
    } catch (error) {
      // A refused event is recorded again; half of it may be in the file.
      try {
        ftruncateSync(file.descriptor, file.bytes);
      } catch {
        close();
      }
      throw error;
    }
  };
  const adoptSafely = (): void => {
    try {
      adopt();
    } catch (error) {
      log.warn({ err: error }, "files of the service's own events cannot be looked for");
    }
  };

  return {
    add(row) {
      if (waitingBytes > SPOOL_BYTES_MAX)
        throw new Error('too many events of the service wait for the buffer');
      if (open === undefined) {
        const path = join(directory, `${folder.newName()}${SUFFIX}`);
        open = { path, descriptor: openSync(path, 'ax', 0o600), bytes: 0, first: added };
        flushLater();
      }
      writeWhole(open, row);
      added += 1;
      if (open.bytes > SPOOL_FILE_BYTES_MAX) close();
    },
    async awaitRecorded() {
      const wanted = added;
      // The first may have begun before, the second may leave the file that is open.
      for (let flushes = 0; safe < wanted; flushes++) {
        if (flushes === FLUSHES_MAX) throw new Error("the disk does not flush the service's own events");
        await flush();
      }
    },
    waitingBytes: () => waitingBytes,
    job: {
      name: 'usage.spool',
      start() {
        adoptSafely();
        adoptTimer = setInterval(adoptSafely, SPOOL_ADOPT_MS);
      },
      async stop() {
        stopping = true;
        clearTimeout(timer);
        clearInterval(adoptTimer);
        await flushing;
        close();
        // The next start finds the events that the buffer does not accept now.
        await flush();
        folder.leave();
      },
      async settle() {
        while (closed.length > 0 || open !== undefined) {
          await flush();
          await Bun.sleep(SETTLE_POLL_MS);
        }
      },
    },
  };
}
