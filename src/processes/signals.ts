// The signals of the operating system.

import { closeSync, openSync } from 'node:fs';

export type Signals = ReturnType<typeof createSignals>;

/** A terminal signals the whole group, and `bun run` and npx pass it on once more: that is one Ctrl-C. */
const ECHO_MS = 300;

/**
 * The first SIGTERM or SIGINT begins an orderly end, a second one does not wait for it. One of several processes gets two
 * signals for one end where the whole group gets one (from a terminal, or systemd), so that only its owner cuts it short.
 */
export function createSignals(oneOfSeveral: boolean) {
  let reload = (): void => undefined;
  const startedOnTerminal = hasTerminal();
  const ending = new Promise<string>((resolve) => {
    let signalledAt = Number.POSITIVE_INFINITY;
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => {
        if (performance.now() - signalledAt > ECHO_MS && !oneOfSeveral) process.exit(130);
        signalledAt = Math.min(signalledAt, performance.now());
        resolve(signal);
      });
    // A terminal that closes says the same as an operator who changed the models file.
    process.on('SIGHUP', () => (startedOnTerminal && !hasTerminal() ? resolve('SIGHUP') : reload()));
  });
  return {
    /** Resolves with the reason of the end: SIGTERM, SIGINT, or a terminal that closed. */
    ending,
    /** Does the work at each SIGHUP; before that, SIGHUP is without effect. */
    onReload(work: () => void): void {
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
