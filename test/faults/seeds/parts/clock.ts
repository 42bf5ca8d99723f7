// A clock that can be stepped, by Debian's `libfaketime`: processes with its library loaded read another time.

import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path of the library; undefined where it is not installed. */
const FAKETIME = [...new Bun.Glob('/usr/lib/*/faketime/libfaketimeMT.so.1').scanSync('/')][0];

/** Why no clock can be stepped here; undefined where one can. CI requires it. */
export function missingClock(): string | undefined {
  if (FAKETIME !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error('libfaketime is required, but not installed: apt-get install libfaketime');
  return 'needs libfaketime';
}

export type SteppedClock = Disposable & {
  /** With which a process has this clock. */
  environment: Record<string, string>;
  /** Seconds that the clock is ahead from now on. */
  set(seconds: number): void;
};

const LIBRARY = {
  LD_PRELOAD: FAKETIME ?? '',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  NO_FAKE_STAT: '1',
};

/** The variables of a process whose clock is ahead by so many seconds, always: nothing is read again as with a stepped one. */
export const clockAhead = (seconds: number): Record<string, string> => ({
  ...LIBRARY,
  FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
});

export function createSteppedClock(): SteppedClock {
  // Apart from what may be full.
  const folder = mkdtempSync(join(tmpdir(), 'clock-'));
  const file = join(folder, 'ahead');
  const set = (seconds: number): void => {
    // Renamed into place, so that no process reads half of it.
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    renameSync(`${file}.new`, file);
  };
  set(0);
  return {
    environment: {
      ...LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
    },
    set,
    [Symbol.dispose]() {
      rmSync(folder, { recursive: true, force: true });
      removeLeftovers();
    },
  };
}

/** Shared memory of processes that were killed, named after them. */
export function removeLeftovers(): void {
  for (const name of readdirSync('/dev/shm')) {
    const pid = /^(?:sem\.faketime_sem|faketime_shm)_(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join('/dev/shm', name), { force: true });
  }
}
