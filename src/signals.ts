// What the operating system tells the process.

import { closeSync, openSync } from 'node:fs';

export type Signals = {
  /** What ended it, once: SIGTERM, SIGINT, a terminal that closed, or the owner's end. */
  ending: Promise<string>;
  /** What SIGHUP asks for; before that it is without effect. */
  onReload(work: () => void): void;
};

/**
 * The first SIGTERM or SIGINT begins an orderly end, a second one does not wait for it. One of several processes ends
 * also when their owner has died: what it serves from has died with it, and the next start needs the port. It is told
 * twice of one end where the whole group is told (by a terminal, or systemd), so that only its owner cuts it short.
 */
export function createSignals(oneOfSeveral: boolean): Signals {
  let reload = (): void => undefined;
  const startedOnTerminal = hasTerminal();
  const ending = new Promise<string>((resolve) => {
    let told = false;
    process.on('disconnect', () => resolve('the owner has ended'));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (told && !oneOfSeveral) process.exit(130);
        told = true;
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

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
