// What the operating system tells the process.

import { closeSync, openSync } from 'node:fs';

export type Signals = {
  /** What ended it, once: SIGTERM, SIGINT, a terminal that closed, or the owner's end. */
  ending: Promise<string>;
  /** What SIGHUP asks for; before that it is without effect. */
  onReload(work: () => void): void;
};

export const OWNER_ENDED = 'the owner has ended';

/** A terminal tells the whole group, and `bun run` and npx tell us once more: that is one Ctrl-C. */
const ECHO_MS = 300;

/**
 * The first SIGTERM or SIGINT begins an orderly end, a second one does not wait for it. One of several processes ends
 * also when their owner has died: what it serves from has died with it, and the next start needs the port. It is told
 * twice of one end where the whole group is told (by a terminal, or systemd), so that only its owner cuts it short.
 */
export function createSignals(oneOfSeveral: boolean): Signals {
  let reload = (): void => undefined;
  const startedOnTerminal = hasTerminal();
  const ending = new Promise<string>((resolve) => {
    let toldAt = Number.POSITIVE_INFINITY;
    process.on('disconnect', () => resolve(OWNER_ENDED));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (performance.now() - toldAt > ECHO_MS && !oneOfSeveral) process.exit(130);
        toldAt = Math.min(toldAt, performance.now());
        resolve(signal);
      });
    }
    // A terminal that closes says the same as an operator who changed the models file.
    process.on('SIGHUP', () => (startedOnTerminal && !hasTerminal() ? resolve('SIGHUP') : reload()));
  });
  return {
    ending,
    onReload(work) {
      reload = work;
    },
  };
}

/** Says what an end waits for, if anything, and how it is cut short; one of several processes is by its owner. */
export function renderEnding(
  signal: string,
  end: { work: string | undefined; shutdownTimeoutMs: number; sharesPort: boolean },
): string {
  const waiting =
    end.work === undefined ? '' : `: ${end.work}, for ${end.shutdownTimeoutMs / 1000} s at most`;
  const again = `; ${signal === 'SIGINT' ? 'Ctrl-C' : signal} again ends at once`;
  return `ending${waiting}${end.sharesPort ? '' : again}`;
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
