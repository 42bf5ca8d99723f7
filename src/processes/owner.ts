// One of several processes, and its owner.

import { dlopen, FFIType } from 'bun:ffi';
import { createSiblings, type Exchanged } from '../core/siblings.ts';

/** Set to `1` in the environment of one of several processes. */
export const ONE_OF_SEVERAL = 'ATRIUM_PROCESS_OF_SEVERAL';

/** The settings in force of the owner, without secrets, in the environment of its processes: theirs have other addresses. */
export const SETTINGS_OF_OWNER = 'ATRIUM_SETTINGS_OF_OWNER';

/** `alive` comes every second; `ready` when it listens. */
export type ToOwner = 'alive' | 'ready' | { failed: string } | Exchanged;

export const ALIVE_INTERVAL_MS = 1000;

/** From linux/prctl.h and signal.h. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

export type Owner = ReturnType<typeof linkToOwner>;

/** Begins to give signs of life. This process ends when its owner does. */
export function linkToOwner() {
  const tell = (message: ToOwner): Promise<void> =>
    new Promise((done) => {
      if (process.connected !== true) return done();
      process.send?.(message, undefined, undefined, () => done());
    });
  const siblings = createSiblings((message) => void tell(message));
  process.on('message', (message: Exchanged) => void siblings.receive(message));
  process.on('disconnect', () => process.exit(1));
  dieWithParent();
  void tell('alive');
  setInterval(() => void tell('alive'), ALIVE_INTERVAL_MS);
  return {
    ready: (): void => void tell('ready'),
    /** Reports why it ends. */
    failed: (failed: string): Promise<void> => tell({ failed }),
    siblings,
  };
}

/** Linux kills this process when its parent dies, also one that hangs, which would keep its share of the port. */
function dieWithParent(): void {
  if (process.platform !== 'linux') return;
  try {
    const prctl = { args: [FFIType.i32, FFIType.u64], returns: FFIType.i32 } as const;
    dlopen('libc.so.6', { prctl }).symbols.prctl(PR_SET_PDEATHSIG, SIGKILL);
  } catch {
    // The C library has another name here. A process that does not hang ends with the channel.
  }
}
