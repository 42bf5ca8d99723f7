// The service's side of a reader: a process that is started for the first file, does one file at a time, and is replaced
// when it has died, has grown, or has had nothing to do for a while.

import type { Subprocess } from 'bun';
import { fetchFile, StoreUnavailable } from './fetch-file.ts';
import { READER_CEILINGS, READER_IDLE_MS, READER_RETAINED_BYTES_MAX } from './limits.ts';
import {
  type Chunk,
  type Confinement,
  type FromReader,
  LAST_WORDS,
  type ReaderCeilings,
  type Reading,
  type ReadRequest,
  type ToReader,
} from './protocol.ts';
import { readerCommand } from './start-reader.ts';
import { Unreadable } from './unreadable.ts';

/** The process ended while it read: by its watchdog, by the system, or by a fault of its own. */
export class ReaderDied extends Error {}

/** The file took longer than it may, as it would again. */
export class ReaderLate extends ReaderDied {}

/** The service has ended the process: the file is not to blame. */
export class ReaderEnded extends Error {}

export type ReadOutcome =
  | { reading: Reading; chunks: AsyncGenerator<Chunk> }
  | Extract<FromReader, { unreadable: unknown }>
  /** The object store does not answer. */
  | { unavailable: string };

export type Reader = ReturnType<typeof createReader>;

type Running = {
  process: Subprocess<'ignore', 'pipe', 'inherit'>;
  memory: number;
  /** Takes the answer to the last message. */
  answered: (answer: FromReader) => void;
  /** Rejects when the process has ended, with the reason. */
  dead: Promise<never>;
  /** Aborts when the process has ended. */
  exit: AbortSignal;
};

/**
 * `environment` is all that the process gets: no credentials. A file that takes it beyond one of the ceilings ends it. `started`
 * gets what each process could be kept from.
 */
export function createReader({
  environment,
  ceilings = READER_CEILINGS,
  started = () => undefined,
}: {
  environment: Record<string, string | undefined>;
  ceilings?: ReaderCeilings;
  started?: (confinement: Confinement) => void;
}) {
  let running: Running | undefined;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let ended = false;

  function start(): Running {
    const exit = new AbortController();
    const child = Bun.spawn(readerCommand(), {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: environment,
      serialization: 'advanced',
      ipc(message: FromReader) {
        if ('confinement' in message) started(message.confinement);
        else reader.answered(message);
      },
    });
    const dead = child.exited.then(async () => {
      if (running === reader) running = undefined;
      exit.abort();
      const lastWords = (await new Response(child.stdout).text().catch(() => '')).trim();
      if (ended) throw new ReaderEnded();
      if (lastWords === LAST_WORDS.time) throw new ReaderLate(lastWords);
      throw new ReaderDied(lastWords || `its reader ended with ${child.signalCode ?? child.exitCode}`);
    });
    dead.catch(() => undefined);
    const reader: Running = {
      process: child,
      memory: 0,
      answered: () => undefined,
      dead,
      exit: exit.signal,
    };
    return reader;
  }

  function retire(retired: Running | undefined): void {
    if (running === retired) running = undefined;
    retired?.process.kill('SIGKILL');
  }

  /** Only this process has the file that it has begun: where it has ended, the answer is the reason. */
  function ask(asked: Running, message: ToReader): Promise<FromReader> {
    const { promise, resolve } = Promise.withResolvers<FromReader>();
    asked.answered = resolve;
    try {
      asked.process.send(message);
    } catch {
      // It is about to end, which rejects the answer.
      retire(asked);
    }
    return Promise.race([promise, asked.dead]);
  }

  async function* readChunks(of: Running): AsyncGenerator<Chunk> {
    for (;;) {
      const answer = await ask(of, 'next');
      if (!('chunk' in answer)) throw new Error('a reader answered out of turn');
      if (answer.chunk === undefined) return;
      yield answer.chunk;
    }
  }

  /** Sends the file part by part, as the reader takes them: it has no network. */
  async function sendFile(to: Running, url: string, bytesMax: number): Promise<void> {
    await ask(to, { part: new Uint8Array(), isFirst: true });
    for await (const part of fetchFile(url, bytesMax, { signal: to.exit }))
      await ask(to, { part, isFirst: false });
  }

  async function begin(asked: Running, request: ReadRequest): Promise<FromReader | { unavailable: string }> {
    const { source, bytesMax, ...read } = request;
    if (!('url' in source)) return ask(asked, { read, given: source, ceilings });
    try {
      await sendFile(asked, source.url, bytesMax);
    } catch (error) {
      if (asked.exit.aborted) return asked.dead;
      if (error instanceof StoreUnavailable) return { unavailable: error.message };
      if (error instanceof Unreadable) return { unreadable: { state: error.state, reason: error.message } };
      throw error;
    }
    return ask(asked, { read, ceilings });
  }

  return {
    /**
     * Reads a file and lets `keep` use the outcome; one file at a time. Rejects with ReaderDied where the file was too
     * much for its reader, with ReaderEnded where the service ends, with the signal's reason, and as `keep` does.
     */
    async read<T>(
      request: ReadRequest,
      keep: (outcome: ReadOutcome) => Promise<T>,
      signal?: AbortSignal,
    ): Promise<T> {
      if (ended) throw new ReaderEnded();
      clearTimeout(idle);
      running ??= start();
      const asked = running;
      const breakOff = (): void => retire(asked);
      signal?.addEventListener('abort', breakOff, { once: true });
      try {
        const answer = await begin(asked, request);
        if ('unavailable' in answer || 'unreadable' in answer) return await keep(answer);
        if (!('reading' in answer)) throw new Error('a reader answered out of turn');
        asked.memory = answer.reading.memory;
        return await keep({ reading: answer.reading, chunks: readChunks(asked) });
      } catch (error) {
        // What it may still answer is of this file, and would be taken for an answer about the next one.
        retire(asked);
        throw signal?.aborted === true ? signal.reason : error;
      } finally {
        signal?.removeEventListener('abort', breakOff);
        if (asked.memory > READER_RETAINED_BYTES_MAX) retire(asked);
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
