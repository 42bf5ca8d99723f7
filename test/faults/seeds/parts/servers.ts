// The servers that the service stands on, as parts: those that the harness starts, and the database that the service embeds.

import { join } from 'node:path';
import { readConnection } from '../../../../src/embedded/postgres/index.ts';
import { signalPostgres } from '../../../support/postgres-server.ts';
import type { Part } from './part.ts';

/** A server that is killed once, however many faults strike it, and started once. */
export function restartable(server: {
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
}): Part {
  let running = true;
  let last: Promise<void> = Promise.resolve();
  const next = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work);
    return last;
  };
  return {
    kill: () =>
      next(async () => {
        if (running) await server.kill();
        running = false;
      }),
    start: () =>
      next(async () => {
        if (!running) await server.start();
        running = true;
      }),
    pause() {
      if (running) server.pause();
      return () => {
        if (running) server.resume();
      };
    },
  };
}

/** The service starts it again by itself. */
export function embeddedDatabase(dataDir: () => string): Part {
  const signal = (name: NodeJS.Signals): void => {
    const directory = join(dataDir(), 'postgres');
    // Between its end and its next start there is none; after a loss of power the file that names it may be torn.
    if (readConnection(directory) !== undefined) signalPostgres(directory, name);
  };
  return {
    kill: async () => signal('SIGKILL'),
    start: async () => undefined,
    pause() {
      signal('SIGSTOP');
      return () => signal('SIGCONT');
    },
  };
}
