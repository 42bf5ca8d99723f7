// A job's work: one document is read, and what was found is kept. Done twice, it has the same result: the second finds nothing to read.

import type { Logger } from '../../core/logger.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import type { JobOutcome } from '../../infra/postgres/job-queue.ts';
import type { ObjectStore } from '../../infra/s3/client.ts';
import { contentTypeOf } from '../objects.ts';
import { kindOf } from './formats/kinds.ts';
import { READ_URL_SECONDS, READING_ATTEMPTS_MAX, READING_CHECK_MS } from './limits.ts';
import type { ReadRequest } from './protocol.ts';
import { type Reader, ReaderDied, ReaderEnded, ReaderLate, type ReadOutcome } from './reader-process.ts';
import type { ContentStore, ToRead } from './store.ts';

/** The result is not needed: the document was purged, its reading was switched off, or it will be read again. */
class Unwanted extends Error {}

export function createReadDocument(deps: {
  store: Pick<ContentStore, 'begin' | 'noteFailure' | 'leaveUnread' | 'keep' | 'postpone' | 'isWanted'>;
  objects: Pick<ObjectStore, 'readUrl'>;
  reader: Reader;
  /** Called when a file that took too long was left to the process for slow ones. Absent: it has failed then. */
  postponed?: () => void;
  bytesMax: number;
  log: Logger;
}) {
  const { store, reader, log } = deps;
  const oneAtATime = createSemaphore({ runningMax: 1, waitingMax: Number.POSITIVE_INFINITY, refuse: '' });

  /** Documents of a reading that failed without their fault while the database was away: it is counted still. */
  const unnoted = new Set<string>();

  return (id: string): Promise<JobOutcome> => oneAtATime.run(() => readOne(id));

  async function readOne(id: string): Promise<JobOutcome> {
    const document = await store.begin(id, unnoted.has(id) ? 1 : 0);
    unnoted.delete(id);
    if (document === undefined) return 'done';
    const isGiven = document.givenText !== null;
    if (!isGiven && !document.readsFiles) {
      await store.leaveUnread(document);
      return 'done';
    }
    if (!isGiven && kindOf({ name: document.name, contentType: typeOf(document) }) === undefined) {
      await store.keep(document, { state: 'unsupported', reason: 'files of this kind are not read' });
      return 'done';
    }
    if (document.attempts >= READING_ATTEMPTS_MAX) {
      const reason = 'the service ended each time that the file was read';
      await store.keep(document, { state: 'failed', reason });
      return 'done';
    }
    // The file is read in a process of its own, for as long as the document is to be read.
    const unwanted = new AbortController();
    const timer = setInterval(async () => {
      if (!(await store.isWanted(document).catch(() => true))) unwanted.abort(new Unwanted());
    }, READING_CHECK_MS);
    try {
      const request = await toRequest(document);
      return await reader.read(request, (outcome) => keep(document, outcome), unwanted.signal);
    } catch (error) {
      return await failed(document, error);
    } finally {
      clearInterval(timer);
    }
  }

  /** Replaces what was kept, at once. Cut off within it, the job reads again. */
  async function keep(document: ToRead, outcome: ReadOutcome): Promise<JobOutcome> {
    if ('unavailable' in outcome) return again(document, outcome.unavailable);
    if ('unreadable' in outcome) {
      const { reason } = outcome.unreadable;
      log.info({ document: document.id, reason }, 'a document has no text to be read');
      await store.keep(document, outcome.unreadable);
    } else {
      const { memory: _, ...reading } = outcome.reading;
      await store.keep(document, reading, outcome.chunks);
    }
    return 'done';
  }

  async function again(document: ToRead, reason: string): Promise<JobOutcome> {
    await store.noteFailure(document, reason);
    return { retry: reason };
  }

  /** Failures that the file may have caused stay counted; all others are tried again until they succeed. */
  async function failed(document: ToRead, error: unknown): Promise<JobOutcome> {
    const { id } = document;
    if (error instanceof Unwanted) {
      log.info({ document: id }, 'a reading has ended: the document is gone, or is to be read again');
      return 'done';
    }
    if (error instanceof ReaderEnded) return again(document, 'the service ended while the file was read');
    if (!(error instanceof ReaderDied)) {
      log.warn({ document: id }, 'the text of a document could not be kept; it will be read again');
      await store.noteFailure(document, 'the text could not be kept').catch(() => unnoted.add(id));
      throw error;
    }
    const isLate = error instanceof ReaderLate;
    if (isLate && deps.postponed !== undefined) {
      await store.postpone(document);
      deps.postponed();
      return 'done';
    }
    const reason = error.message;
    const attempts = document.attempts + 1;
    log.warn({ document: id, attempt: attempts, reason }, 'a document could not be read');
    // What took too long takes as long again. Memory may have been that of other files, too.
    if (!isLate && attempts < READING_ATTEMPTS_MAX) return again({ ...document, attempts }, reason);
    await store.keep(document, { state: 'failed', reason });
    return 'done';
  }

  async function toRequest(document: ToRead): Promise<ReadRequest> {
    const { givenText: text, givenFormat: format, objectKey } = document;
    return {
      source:
        text === null
          ? { url: await deps.objects.readUrl(objectKey, READ_URL_SECONDS) }
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
