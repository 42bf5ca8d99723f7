// A job's work: one document is read, and what was found is kept. Done twice, it has the same result: the second finds
// nothing to read.

import type { Logger } from '../../core/logger.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { sleep } from '../../core/wait.ts';
import { isUnavailable } from '../../infra/postgres/client.ts';
import type { JobOutcome } from '../../infra/postgres/job-queue.ts';
import type { ObjectStore } from '../../infra/s3/client.ts';
import { contentTypeOf } from '../objects.ts';
import { kindOf } from './formats/kinds.ts';
import { READ_URL_SECONDS, READING_ATTEMPTS_MAX, READING_CHECK_MS, TAKE_BACK_PAUSE_MS } from './limits.ts';
import type { ReadRequest } from './protocol.ts';
import { type Reader, ReaderDied, ReaderEnded, ReaderLate, type ReadOutcome } from './reader-process.ts';
import type { ContentStore, Ending, ToRead } from './store.ts';

/** The document was purged or switched off, or is to be read anew: nobody waits for the reading. */
class Unwanted extends Error {}

export type ReadDocumentDeps = {
  store: Pick<
    ContentStore,
    'begin' | 'takeBack' | 'noteFailure' | 'leaveUnread' | 'keep' | 'postpone' | 'isWanted'
  >;
  objects: Pick<ObjectStore, 'readUrl'>;
  reader: Reader;
  /** One permit: a process reads one file at a time. */
  turns: Semaphore;
  /** Called when a file that took too long was left to the process for slow ones. Absent: it has failed then. */
  postponed?: () => void;
  bytesMax: number;
  log: Logger;
  /** Aborts at the end of the service. */
  ending: AbortSignal;
};

export function createReadDocument(deps: ReadDocumentDeps) {
  const { store, reader, log } = deps;

  return (id: string): Promise<JobOutcome> => deps.turns.run(() => readOne(id));

  async function readOne(id: string): Promise<JobOutcome> {
    // 1. The attempt is counted before it begins: if the file brings the whole service down, three times are enough.
    const document = await store.begin(id);
    if (document === undefined) return 'done';
    if (document.givenText === null && !document.readsFiles) {
      await store.leaveUnread(document);
      return 'done';
    }
    // 2. For many documents the outcome is known without the file.
    const known = endingOf(document);
    if (known !== undefined) {
      await store.keep(document, known);
      return 'done';
    }
    using wanted = watch(document);
    try {
      // 3. The file is read in a process of its own, for as long as the document is to be read.
      const keep = async (outcome: ReadOutcome): Promise<JobOutcome> => {
        if ('unavailable' in outcome) {
          await takeBack(document, outcome.unavailable);
          return { retry: outcome.unavailable };
        }
        if ('unreadable' in outcome) {
          log.info({ document: id, reason: outcome.unreadable.reason }, 'a document has no text to be read');
          await store.keep(document, outcome.unreadable);
          return 'done';
        }
        // 4. What was found replaces what was kept, at once. Cut off within it, the job reads again.
        const { memory: _, ...reading } = outcome.reading;
        await store.keep(document, reading, outcome.chunks);
        return 'done';
      };
      return await reader.read(await toRequest(document), keep, wanted.signal);
    } catch (error) {
      return failed(document, error);
    }
  }

  /** Looks now and then whether the reading is still wanted; the signal aborts when it is not. */
  function watch(document: ToRead): Disposable & { signal: AbortSignal } {
    const unwanted = new AbortController();
    const timer = setInterval(async () => {
      const isWanted = await store.isWanted(document).catch(() => true);
      if (!isWanted) unwanted.abort(new Unwanted());
    }, READING_CHECK_MS);
    return { signal: unwanted.signal, [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** Only failures that the file may have caused are counted; all others are tried again until they succeed. */
  async function failed(document: ToRead, error: unknown): Promise<JobOutcome> {
    if (error instanceof Unwanted) {
      log.info({ document: document.id }, 'a reading has ended: the document is gone, or is to be read anew');
      return 'done';
    }
    if (!(error instanceof ReaderDied)) {
      const ended = error instanceof ReaderEnded ? 'the service ended while the file was read' : undefined;
      await takeBack(document, ended ?? 'the service could not keep the text');
      if (ended !== undefined) return { retry: ended };
      throw error;
    }
    const isLate = error instanceof ReaderLate;
    if (isLate && deps.postponed !== undefined) {
      await store.postpone(document);
      deps.postponed();
      return 'done';
    }
    const reason = error.message;
    log.warn({ document: document.id, attempt: document.attempts, reason }, 'a document could not be read');
    // What took too long takes as long again. Memory may have been that of other files, too.
    if (isLate || document.attempts >= READING_ATTEMPTS_MAX) {
      await store.keep(document, { state: 'failed', reason });
      return 'done';
    }
    await store.noteFailure(document, reason);
    return { retry: reason };
  }

  /** Waits for a database that is away: nothing else is read meanwhile, and an outage is not the file's fault. */
  async function takeBack(document: ToRead, reason: string): Promise<void> {
    for (let { min: pauseMs, max } = TAKE_BACK_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, max)) {
      try {
        return await store.takeBack(document, reason);
      } catch (error) {
        if (!isUnavailable(error) || deps.ending.aborted) throw error;
        if (pauseMs === TAKE_BACK_PAUSE_MS.min)
          log.warn({ document: document.id }, 'a document waits for the database, to be read again');
        await sleep(pauseMs, deps.ending);
      }
    }
  }

  async function toRequest(document: ToRead): Promise<ReadRequest> {
    const { givenText: text, givenFormat: format } = document;
    return {
      source:
        text === null
          ? { url: await deps.objects.readUrl(document.objectKey, READ_URL_SECONDS) }
          : { text, format: format ?? 'text' },
      name: document.name,
      contentType: typeOf(document),
      language: document.givenLanguage,
      bytesMax: deps.bytesMax,
    };
  }
}

const typeOf = ({ contentType, name }: ToRead): string =>
  contentTypeOf(contentType ?? '', /\.([a-z0-9]{1,16})$/i.exec(name)?.[1]?.toLowerCase() ?? null);

/** How a reading ends that need not begin. */
function endingOf(document: ToRead): Ending | undefined {
  const { attempts, lastReason, givenText } = document;
  if (attempts > READING_ATTEMPTS_MAX)
    return { state: 'failed', reason: lastReason ?? 'the service ended each time that the file was read' };
  if (givenText !== null) return undefined;
  if (kindOf({ name: document.name, contentType: typeOf(document) }) === undefined)
    return { state: 'unsupported', reason: 'files of this kind are not read' };
  return undefined;
}
