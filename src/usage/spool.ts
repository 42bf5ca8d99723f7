// Events of the service itself: written to a file before the request is answered, and handed on to the buffer from
// there. So recording costs a write to the page cache, waits for nobody, and outlives the process.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
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
  // A process id comes back, after a restart of its container even to the same service.
  const own = `${process.pid}-${Date.now().toString(36)}`;
  const closed: ClosedFile[] = [];
  let open: OpenFile | undefined;
  let waitingBytes = 0;
  let files = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let orphanTimer: ReturnType<typeof setInterval> | undefined;
  let flushing: Promise<void> | undefined;
  let failures = 0;
  let stopping = false;

  const close = (): void => {
    if (open === undefined) return;
    closeSync(open.descriptor);
    closed.push({ path: open.path, bytes: open.bytes });
    waitingBytes += open.bytes;
    open = undefined;
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
    flushing ??= handOn().finally(() => {
      flushing = undefined;
      if (closed.length > 0 || open !== undefined) flushLater();
    });
    return flushing;
  };
  /** Every file that is closed, in order; while the buffer is away files fill up instead of becoming many. */
  const handOn = async (): Promise<void> => {
    const old = open !== undefined && performance.now() - open.openedAt > SPOOL_CLOSE_MS;
    if (failures === 0 || old) close();
    for (let file = closed[0]; file !== undefined; file = closed[0]) {
      try {
        await appendFile(file.path);
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn({ err: error }, "the service's own events wait for the buffer");
        return;
      }
      closed.shift();
      waitingBytes -= file.bytes;
    }
  };
  const appendFile = async (path: string): Promise<void> => {
    // One that is gone was left by a dead process, and another has handed it on.
    if (!existsSync(path)) return;
    const rows = splitRows(readFileSync(path));
    if (rows.length > 0) await appender.append(rows);
    rmSync(path, { force: true });
  };

  /** Files that a process which died has left. Whoever finds one hands it on: twice is once. */
  const adopt = (): void => {
    for (const name of readdirSync(directory).filter((each) => each.endsWith(SUFFIX))) {
      const path = join(directory, name);
      if (name.startsWith(`${own}-`) || closed.some((file) => file.path === path)) continue;
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) continue;
      const abandoned = !isRunning(name) || Date.now() - found.mtimeMs > SPOOL_ORPHAN_MS;
      if (!abandoned) continue;
      closed.push({ path, bytes: found.size });
      waitingBytes += found.size;
    }
    if (closed.length > 0) flushLater();
  };

  return {
    add(row) {
      if (waitingBytes > SPOOL_BYTES_MAX)
        throw new Error('too many events of the service wait for the buffer');
      if (open === undefined) {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const path = join(directory, `${own}-${++files}${SUFFIX}`);
        open = { path, descriptor: openSync(path, 'ax', 0o600), bytes: 0, openedAt: performance.now() };
        flushLater();
      }
      writeSync(open.descriptor, row);
      open.bytes += row.length;
      if (open.bytes > SPOOL_FILE_BYTES_MAX) close();
    },
    waitingBytes: () => waitingBytes,
    job: {
      name: 'usage.spool',
      start() {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        adopt();
        orphanTimer = setInterval(adopt, SPOOL_ORPHAN_MS);
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

/** Whether a process with the id in the file's name runs, which may be another one by now. */
function isRunning(name: string): boolean {
  const pid = Number(name.split('-')[0]);
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
