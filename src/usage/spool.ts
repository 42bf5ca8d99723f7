// Events of the service itself: written to a file before the request is answered, and handed on to the buffer from
// there. So recording costs a write to the page cache, waits for nobody, and outlives the process.

import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { newRandomId } from '../core/ids.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { Appender } from './appender.ts';
import {
  SPOOL_BYTES_MAX,
  SPOOL_CLOSE_MS,
  SPOOL_FILE_BYTES_MAX,
  SPOOL_FLUSH_MS,
  SPOOL_ORPHAN_MS,
} from './limits.ts';
import { splitRows } from './row.ts';

export type Spool = {
  /** Keeps a row. Throws where the disk does not take it, or more wait than may. */
  add(row: Buffer): void;
  job: Job;
  /** Bytes in closed files that wait for the buffer. */
  waitingBytes(): number;
};

type OpenFile = { path: string; descriptor: number; bytes: number; openedAt: number };
type ClosedFile = { path: string; bytes: number };

const SUFFIX = '.events';
const RETRY_MS_MAX = 5000;
const SETTLE_POLL_MS = 5;

export function createSpool(deps: { directory: string; appender: Appender; log: Logger }): Spool {
  const { directory, appender, log } = deps;
  const own = newRandomId();
  const closed: ClosedFile[] = [];
  let open: OpenFile | undefined;
  let waitingBytes = 0;
  let files = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let orphanTimer: ReturnType<typeof setInterval> | undefined;
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
    flushing ??= handOn()
      .catch((error: unknown) => log.error({ err: error }, "the service's own events cannot be handed on"))
      .finally(() => {
        flushing = undefined;
        if (closed.length > 0 || open !== undefined) flushLater();
      });
    return flushing;
  };
  const isOld = ({ openedAt }: OpenFile): boolean => performance.now() - openedAt > SPOOL_CLOSE_MS;
  /** Every file that is closed, in order; while the buffer is away files fill up instead of becoming many. */
  const handOn = async (): Promise<void> => {
    if (failures === 0 || (open !== undefined && isOld(open))) close();
    for (let file = closed[0]; file !== undefined; file = closed[0]) {
      const rows = read(file.path);
      try {
        if (rows.length > 0) await appender.append(rows);
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn({ err: error }, "the service's own events wait for the buffer");
        return;
      }
      closed.shift();
      waitingBytes -= file.bytes;
      if (!unreadable.has(file.path)) rmSync(file.path, { force: true });
    }
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

  /** Files that a process which died has left. Whoever finds one hands it on: twice is once. */
  const adopt = (): void => {
    for (const name of readdirSync(directory).filter((each) => each.endsWith(SUFFIX))) {
      const path = join(directory, name);
      if (name.startsWith(own) || unreadable.has(path) || closed.some((file) => file.path === path)) continue;
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined || Date.now() - found.mtimeMs < SPOOL_ORPHAN_MS) continue;
      closed.push({ path, bytes: found.size });
      waitingBytes += found.size;
    }
    if (closed.length > 0) flushLater();
  };
  /** Nothing is ever written behind half a row, which would hide it. */
  const writeWhole = (file: OpenFile, row: Buffer): void => {
    try {
      if (writeSync(file.descriptor, row) < row.length) throw new Error('the disk is full');
      file.bytes += row.length;
    } catch (error) {
      // What is refused comes again; half of it may be there.
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
      // Others may take over what has not been written to for long: after a pause of the machine, too.
      if (open !== undefined && isOld(open)) close();
      if (open === undefined) {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const path = join(directory, `${own}-${++files}${SUFFIX}`);
        open = { path, descriptor: openSync(path, 'ax', 0o600), bytes: 0, openedAt: performance.now() };
        flushLater();
      }
      writeWhole(open, row);
      if (open.bytes > SPOOL_FILE_BYTES_MAX) close();
    },
    waitingBytes: () => waitingBytes,
    job: {
      name: 'usage.spool',
      start() {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        adoptSafely();
        orphanTimer = setInterval(adoptSafely, SPOOL_ORPHAN_MS / 2);
      },
      async stop() {
        stopping = true;
        clearTimeout(timer);
        clearInterval(orphanTimer);
        await flushing;
        close();
        // What the buffer does not take now is found at the next start.
        await flush();
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
