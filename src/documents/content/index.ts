// The contents of documents: files are read by jobs, their text and passages are kept.

import { Elysia } from 'elysia';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { Routes } from '../../http/area.ts';
import type { Http } from '../../http/http.ts';
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
  READING_LEASE_MS,
  READING_POLL_MS,
} from './limits.ts';
import { contentListRoutes } from './list-routes.ts';
import type { Confinement } from './protocol.ts';
import { EARLIER_READING, READING, SLOW_READING } from './queueing.ts';
import { createReadDocument } from './read-document.ts';
import { createReader } from './reader-process.ts';
import { contentRoutes, hasText } from './routes.ts';
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

/** `wake` looks for documents that are to be read at once: one was queued. Absent: none is read. */
export function createContent(deps: {
  sql: Sql;
  words: WordStore;
  objects: Pick<ObjectStore, 'readUrl'>;
  queue: JobQueue;
  documents: Pick<DocumentStore, 'find'>;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  /** The passages of a document were replaced. */
  replaced(): void;
  settings: ContentSettings;
  log: Logger;
}) {
  const { sql, settings, requireWorkspace } = deps;
  const { reads } = settings;
  const store = createContentStore(sql, deps.words, deps.replaced);
  const reading = reads ? createReading(deps, store) : undefined;
  const states = createContentStates(sql);
  const workspaces = createWorkspaceSettings(sql);
  const wake = (): void => reading?.wake();
  const catchUp = () => void reading?.catchUp.settle?.();
  return {
    routes: (http: Http) =>
      new Elysia({ name: 'documents.content' })
        .use(contentRoutes(http, { store, states, documents: deps.documents, reads, wake }))
        .use(contentSettingsRoutes(http, { workspaces, requireWorkspace, catchUp }))
        .use(contentListRoutes(http, { states, workspaces, requireWorkspace, reads }))
        .use(excerptRoute(http, sql, (content) => hasText(content, reads))),
    jobs: reading === undefined ? [] : [reading.job, reading.catchUp],
    wake: reading?.wake,
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

function createReading(
  deps: Parameters<typeof createContent>[0],
  store: ReturnType<typeof createContentStore>,
) {
  const { sql, objects, queue, settings, log } = deps;
  const { bytesMax, readerEnvironment: environment } = settings;
  const started = logConfinement(log);
  const slowReader = createReader({ environment, started });
  const firstReader = createReader({ environment, ceilings: FIRST_READING_CEILINGS, started });
  const register = (kind: string, pollMs: number, read: ReturnType<typeof createReadDocument>) =>
    queue.register({
      kind,
      pollMs,
      batchMax: 1,
      handle: (jobs) =>
        Promise.all(jobs.map(({ payload }) => read((payload as { document: string }).document))),
      leaseMs: READING_LEASE_MS,
      // The document counts the readings that its file has spoilt, and is `failed` then.
      attemptsMax: Number.POSITIVE_INFINITY,
    });
  const shared = { store, objects, bytesMax, log };
  // A file that takes long leaves its turn to the others, whatever workspace it is from, and is read by a process of its own.
  const readSlow = createReadDocument({ ...shared, reader: slowReader });
  const postponed = register(SLOW_READING, READING_POLL_MS, readSlow);
  const readFirst = createReadDocument({ ...shared, reader: firstReader, postponed });
  const wakeEarlier = register(EARLIER_READING, EARLIER_READING_POLL_MS, readFirst);
  return {
    wake: register(READING, READING_POLL_MS, readFirst),
    catchUp: createCatchUpJob({
      sql,
      name: 'documents.content-catch-up',
      intervalMs: settings.catchUpIntervalSeconds * 1000,
      run: createCatchUp({ kind: EARLIER_READING, queueSome: store.queueUnknown, queue, wake: wakeEarlier }),
      log,
    }),
    job: {
      name: 'documents.reader',
      start: () => undefined,
      async stop() {
        firstReader.end();
        slowReader.end();
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
