// The service's side of a reader: a process that is started for the first file, does one file at a time, and is replaced
// when it has died, has grown, or has had nothing to do for a while.

import type { Subprocess } from 'bun';
import { within } from '../../core/wait.ts';
import {
  READER_ANSWER_MS_MAX,
  READER_DOCUMENTS_MAX,
  READER_IDLE_MS,
  READER_RETAINED_BYTES_MAX,
} from './limits.ts';
import type { Chunk, FromReader, Reading, ReadRequest, ToReader } from './protocol.ts';

/** The process ended while it read: by its watchdog, by the system, or by a fault of its own. */
export class ReaderDied extends Error {}

/** The service has ended the process: the file is not to blame. */
export class ReaderEnded extends Error {}

export type ReadOutcome =
  | { reading: Reading; chunks: AsyncGenerator<Chunk> }
  | Extract<FromReader, { unreadable: unknown } | { unavailable: unknown }>;

export type Reader = ReturnType<typeof createReader>;

type Running = {
  process: Subprocess<'ignore', 'pipe', 'inherit'>;
  documents: number;
  memory: number;
  /** The request that it has not answered. */
  waiting: PromiseWithResolvers<FromReader> | undefined;
};

/** `environment` is all that the process gets: no credentials. */
export function createReader({ environment }: { environment: Record<string, string | undefined> }) {
  let running: Running | undefined;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let ended = false;

  function start(): Running {
    const child = Bun.spawn([process.execPath, new URL('./reader.ts', import.meta.url).pathname], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: environment,
      serialization: 'advanced',
      ipc(message: FromReader) {
        const waiting = started.waiting;
        started.waiting = undefined;
        waiting?.resolve(message);
      },
    });
    const started: Running = { process: child, documents: 0, memory: 0, waiting: undefined };
    void child.exited.then(() => bury(started));
    return started;
  }

  async function bury(dead: Running): Promise<void> {
    if (running === dead) running = undefined;
    const lastWords = await new Response(dead.process.stdout).text().catch(() => '');
    const { signalCode, exitCode } = dead.process;
    const reason = lastWords.trim() || `its reader ended with ${signalCode ?? exitCode}`;
    dead.waiting?.reject(ended ? new ReaderEnded() : new ReaderDied(reason));
  }

  function retire(): void {
    const retired = running;
    running = undefined;
    retired?.process.kill('SIGKILL');
  }

  async function ask(message: ToReader): Promise<FromReader> {
    if (ended) throw new ReaderEnded();
    running ??= start();
    const asked = running;
    const waiting = Promise.withResolvers<FromReader>();
    asked.waiting = waiting;
    asked.process.send(message);
    return within(waiting.promise, READER_ANSWER_MS_MAX, () => {
      retire();
      throw new ReaderDied('its reader does not answer');
    });
  }

  async function* readChunks(): AsyncGenerator<Chunk> {
    for (;;) {
      const answer = await ask('next');
      if (!('chunk' in answer)) throw new Error('a reader answered out of turn');
      if (answer.chunk === undefined) return;
      yield answer.chunk;
    }
  }

  return {
    /**
     * Reads a file and lets `keep` use the outcome; one file at a time. Rejects with ReaderDied where the file was too
     * much for its reader, with ReaderEnded where the service ends, and as `keep` does.
     */
    async read<T>(request: ReadRequest, keep: (outcome: ReadOutcome) => Promise<T>): Promise<T> {
      clearTimeout(idle);
      try {
        const answer = await ask({ read: request });
        if ('chunk' in answer) throw new Error('a reader answered out of turn');
        if (!('reading' in answer)) return await keep(answer);
        if (running !== undefined) running.memory = answer.reading.memory;
        return await keep({ reading: answer.reading, chunks: readChunks() });
      } finally {
        if (running !== undefined) {
          running.documents += 1;
          const spent =
            running.documents >= READER_DOCUMENTS_MAX || running.memory > READER_RETAINED_BYTES_MAX;
          if (spent) retire();
        }
        idle = setTimeout(retire, READER_IDLE_MS);
        idle.unref();
      }
    },
    /** Of the process that runs, if one does. */
    pid: (): number | undefined => running?.process.pid,
    end(): void {
      ended = true;
      clearTimeout(idle);
      retire();
    },
  };
}
