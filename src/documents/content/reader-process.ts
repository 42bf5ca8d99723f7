// The service's side of a reader: a process that is started for the first file, does one file at a time, and is replaced
// when it has died, has grown, or has had nothing to do for a while.

import type { Subprocess } from 'bun';
import { within } from '../../core/wait.ts';
import {
  READER_ANSWER_MS_MAX,
  READER_CEILINGS,
  READER_DOCUMENTS_MAX,
  READER_IDLE_MS,
  READER_RETAINED_BYTES_MAX,
} from './limits.ts';
import type { Chunk, FromReader, ReaderCeilings, Reading, ReadRequest, ToReader } from './protocol.ts';

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
  /** Why it has ended; undefined while it runs. */
  death: Promise<Error> | undefined;
};

/** `environment` is all that the process gets: no credentials. A file that takes it beyond one of the ceilings ends it. */
export function createReader({
  environment,
  ceilings = READER_CEILINGS,
}: {
  environment: Record<string, string | undefined>;
  ceilings?: ReaderCeilings;
}) {
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
    const started: Running = {
      process: child,
      documents: 0,
      memory: 0,
      waiting: undefined,
      death: undefined,
    };
    void child.exited.then(() => bury(started));
    return started;
  }

  async function bury(dead: Running): Promise<void> {
    if (running === dead) running = undefined;
    dead.death = reasonOf(dead);
    dead.waiting?.reject(await dead.death);
  }

  async function reasonOf({ process: { stdout, signalCode, exitCode } }: Running): Promise<Error> {
    const lastWords = await new Response(stdout).text().catch(() => '');
    if (ended) return new ReaderEnded();
    return new ReaderDied(lastWords.trim() || `its reader ended with ${signalCode ?? exitCode}`);
  }

  function retire(retired: Running | undefined): void {
    if (running === retired) running = undefined;
    retired?.process.kill('SIGKILL');
  }

  async function ask(asked: Running, message: ToReader): Promise<FromReader> {
    // Only this process has the file that it has begun; another one cannot answer about it.
    if (asked.death !== undefined) throw await asked.death;
    const waiting = Promise.withResolvers<FromReader>();
    asked.waiting = waiting;
    const answer = within(waiting.promise, READER_ANSWER_MS_MAX, () => {
      retire(asked);
      throw new ReaderDied('its reader does not answer');
    });
    try {
      asked.process.send(message);
    } catch {
      // It is about to end, which rejects the answer.
      retire(asked);
    }
    return answer;
  }

  async function* readChunks(of: Running): AsyncGenerator<Chunk> {
    for (;;) {
      const answer = await ask(of, 'next');
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
      if (ended) throw new ReaderEnded();
      clearTimeout(idle);
      running ??= start();
      const asked = running;
      try {
        const answer = await ask(asked, { read: request, ceilings });
        if ('chunk' in answer) throw new Error('a reader answered out of turn');
        if (!('reading' in answer)) return await keep(answer);
        asked.memory = answer.reading.memory;
        return await keep({ reading: answer.reading, chunks: readChunks(asked) });
      } catch (error) {
        // What it may still answer is of this file, and would be taken for an answer about the next one.
        retire(asked);
        throw error;
      } finally {
        asked.documents += 1;
        const spent = asked.documents >= READER_DOCUMENTS_MAX || asked.memory > READER_RETAINED_BYTES_MAX;
        if (spent) retire(asked);
        idle = setTimeout(() => retire(running), READER_IDLE_MS);
        idle.unref();
      }
    },
    /** Of the process that runs, if one does. */
    pid: (): number | undefined => running?.process.pid,
    end(): void {
      ended = true;
      clearTimeout(idle);
      retire(running);
    },
  };
}
