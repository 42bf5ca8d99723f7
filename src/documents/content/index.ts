// The contents of documents: files are read by jobs, their text and passages are kept.

import { Elysia } from 'elysia';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import type { Routes } from '../../http/area.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import type { ObjectStore } from '../../infra/s3/client.ts';
import { createCatchUp, createCatchUpJob } from '../jobs/catch-up.ts';
import type { WordStore } from '../retrieval/word-store.ts';
import type { DocumentStore } from '../store.ts';
import { excerptRoute } from './excerpt.ts';
import {
  EARLIER_READING_POLL_MS,
  FIRST_READING_CEILINGS,
  READER_CEILINGS,
  READING_LEASE_MS,
  READING_POLL_MS,
} from './limits.ts';
import { contentListRoutes } from './list-routes.ts';
import type { Confinement, ReaderCeilings } from './protocol.ts';
import { EARLIER_READING, READING, SLOW_READING } from './queueing.ts';
import { createReadDocument, type ReadDocumentDeps } from './read-document.ts';
import { createReader } from './reader-process.ts';
import { hasText } from './render.ts';
import { contentRoutes } from './routes.ts';
import { contentSettingsRoutes } from './settings-routes.ts';
import { createContentStates } from './states.ts';
import { createContentStore } from './store.ts';
import { createWorkspaceSettings } from './workspace-settings.ts';

export type ContentSettings = {
  /** Whether files are read. */
  reads: boolean;
  bytesMax: number;
  /** All that a reader's process gets of the environment. */
  readerEnvironment: Record<string, string | undefined>;
  catchUpIntervalSeconds: number;
};

export type ContentDeps = {
  sql: Sql;
  words: WordStore;
  objects: Pick<ObjectStore, 'readUrl'>;
  queue: JobQueue;
  documents: Pick<DocumentStore, 'find'>;
  requireWorkspace(id: string): Promise<void>;
  /** The passages of a document were replaced. */
  replaced(): void;
  settings: ContentSettings;
  log: Logger;
};

/** `wake` looks for documents that are to be read at once: one was queued. Absent: none is read. */
export function createContent(deps: ContentDeps): { routes: Routes; jobs: Job[]; wake?: () => void } {
  const { sql, settings } = deps;
  const store = createContentStore(sql, deps.words);
  const reading = settings.reads ? createReading(deps, store) : undefined;
  const shared = {
    states: createContentStates(sql),
    workspaces: createWorkspaceSettings(sql),
    requireWorkspace: deps.requireWorkspace,
    reads: settings.reads,
  };
  return {
    routes: (http) =>
      new Elysia({ name: 'documents.content' })
        .use(
          contentRoutes(http, {
            ...shared,
            store,
            documents: deps.documents,
            wake: () => reading?.wake(),
          }),
        )
        .use(contentSettingsRoutes(http, { ...shared, catchUp: () => void reading?.catchUp.settle?.() }))
        .use(contentListRoutes(http, shared))
        .use(excerptRoute(http, sql, (content) => hasText(content, settings.reads))),
    jobs: reading === undefined ? [] : [reading.readerJob, reading.catchUp],
    ...(reading === undefined ? {} : { wake: reading.wake }),
  };
}

/** The settings alone, for the command line: a running service finds the documents that it has to read by itself. */
export const createContentAdministration = (
  sql: Sql,
  requireWorkspace: (id: string) => Promise<void>,
): Routes => {
  const deps = { workspaces: createWorkspaceSettings(sql), requireWorkspace, catchUp: () => undefined };
  return (http) => contentSettingsRoutes(http, deps);
};

function createReading(deps: ContentDeps, store: ReturnType<typeof createContentStore>) {
  const { sql, objects, queue, settings, log } = deps;
  const ending = new AbortController();
  const started = logConfinement(log);
  const shared = {
    store: {
      ...store,
      async keep(...reading: Parameters<typeof store.keep>) {
        await store.keep(...reading);
        deps.replaced();
      },
    },
    objects,
    bytesMax: settings.bytesMax,
    log,
    ending: ending.signal,
  };
  const read = (ceilings: ReaderCeilings, options: Pick<ReadDocumentDeps, 'postponed'>) => {
    const reader = createReader({ environment: settings.readerEnvironment, ceilings, started });
    const turns = createSemaphore({
      runningMax: 1,
      waitingMax: Number.POSITIVE_INFINITY,
      refuse: 'Too many documents are to be read',
    });
    const readDocument = createReadDocument({ ...shared, reader, turns, ...options });
    const register = (kind: string, pollMs: number) =>
      queue.register({
        kind,
        pollMs,
        batchMax: 1,
        handle: (jobs) =>
          Promise.all(jobs.map(({ payload }) => readDocument((payload as { document: string }).document))),
        leaseMs: READING_LEASE_MS,
        // The document counts the attempts that its file has spoilt, and is `failed` then.
        attemptsMax: Number.POSITIVE_INFINITY,
      });
    return { reader, register };
  };
  // A file that takes long leaves its turn to the others, whatever workspace it is from, and is read by a process of its own.
  const slow = read(READER_CEILINGS, {});
  const wakeSlow = slow.register(SLOW_READING, READING_POLL_MS);
  const first = read(FIRST_READING_CEILINGS, { postponed: wakeSlow });
  const wake = first.register(READING, READING_POLL_MS);
  const wakeEarlier = first.register(EARLIER_READING, EARLIER_READING_POLL_MS);
  const catchUp = createCatchUp({
    kind: EARLIER_READING,
    queueSome: store.queueUnknown,
    queue,
    wake: wakeEarlier,
  });
  return {
    wake,
    catchUp: createCatchUpJob({
      sql,
      name: 'documents.content-catch-up',
      intervalMs: settings.catchUpIntervalSeconds * 1000,
      run: catchUp,
      log,
    }),
    readerJob: {
      name: 'documents.reader',
      start: () => undefined,
      async stop() {
        ending.abort();
        first.reader.end();
        slow.reader.end();
      },
    } satisfies Job,
  };
}

/** Says once, with the first reader, what the platform does not take from readers. */
function logConfinement(log: Logger): (confinement: Confinement) => void {
  let said = false;
  return ({ offline, nobody }) => {
    if (said) return;
    said = true;
    if (offline && nobody)
      log.info({}, 'files are read by a process without network and with the rights of nobody');
    else
      log.warn(
        { network: !offline, ownUser: !nobody },
        `files are read by a process with ${[...(offline ? [] : ['a network']), ...(nobody ? [] : ["the service's own user"])].join(' and ')}`,
      );
  };
}
