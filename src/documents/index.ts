// Area A: documents. File bytes go directly between client and object store; this area keeps their records.

import { Elysia } from 'elysia';
import { createBatcher } from '../core/batcher.ts';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import type { Embeddings } from '../core/embed-texts.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic, UPKEEP_DELAY_MS } from '../core/periodic.ts';
import type { Principal } from '../core/principal.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { exclusively, isRunning } from '../infra/postgres/exclusive.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import type { JobQueue } from '../infra/postgres/job-queue.ts';
import { KEYS_PER_CALL_MAX, type ObjectStore, type Removal } from '../infra/s3/client.ts';
import { type ContentSettings, createContent } from './content/index.ts';
import { createFeed } from './feed/index.ts';
import { createHistory } from './history/index.ts';
import { createBucketCustody } from './jobs/custody.ts';
import { createCustodyStore } from './jobs/custody-store.ts';
import { createSweep } from './jobs/sweep.ts';
import { CACHE_TTL_MS, CACHED_DOCUMENTS_MAX, DELETION_LEASE_MS } from './limits.ts';
import { createBin } from './operations/bin.ts';
import { createConfirm } from './operations/confirm.ts';
import { createDownload } from './operations/download.ts';
import { createEdit } from './operations/edit.ts';
import { createSearch, createSearchAsPerson, type FindUserByEmail, viewerOf } from './operations/search.ts';
import { type FindUser, toViewer, type Viewer } from './policy.ts';
import { BACKUP_LOCK, OBJECT_DELETION } from './purging.ts';
import { createRetrieval } from './retrieval/index.ts';
import { binRoutes } from './routes/bin.ts';
import { metadataRoutes } from './routes/metadata.ts';
import { searchRoutes } from './routes/search.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { createSearchEntries } from './search/entries.ts';
import { createDocumentSearch } from './search/index.ts';
import type { MirrorSettings } from './search/meilisearch/mirror.ts';
import { createMeasureStorage } from './storage.ts';
import { createDocumentStore } from './store.ts';
import { createVectors, type VectorsSettings } from './vectors/index.ts';

export { createContentAdministration } from './content/index.ts';
export { ownerMark } from './jobs/custody.ts';
export { createBucketMaintenance, readIdentity } from './jobs/custody-store.ts';
export { MARKS } from './objects.ts';
export { BACKUP_LOCK, OBJECT_KEYS, REBUILT_TABLES } from './purging.ts';
export { createSearchMaintenance } from './search/maintenance.ts';

export type DocumentsDeps = {
  sql: Sql;
  searchSql: Sql;
  meilisearch: MirrorSettings | undefined;
  objects: ObjectStore;
  invalidation: Invalidation;
  queue: JobQueue;
  findUser: FindUser;
  findUserByEmail: FindUserByEmail;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  /** The models that embed passages. */
  embeddings: Embeddings;
  clock: Clock;
  log: Logger;
  settings: {
    uploadBytesMax: number;
    uploadRetentionSeconds: number;
    sweepIntervalSeconds: number;
    trashRetentionDays: number;
    auditRetentionDays: number;
    content: Omit<ContentSettings, 'catchUpIntervalSeconds'>;
    vectors: VectorsSettings;
  };
};

export function createDocuments(deps: DocumentsDeps): AreaWithRoutes & {
  searchAsPerson: ReturnType<typeof createSearchAsPerson>;
  /** Those of the documents that the caller may see now. */
  visibleTo(principal: Principal, ids: readonly string[]): Promise<Set<string>>;
  /** Those that the person, known by e-mail, may see now. */
  visibleToPerson(
    person: { workspaceId: string; email: string },
    ids: readonly string[],
  ): Promise<Set<string>>;
  retrieve: ReturnType<typeof createRetrieval>['retrieve'];
  retrieveAsPerson: ReturnType<typeof createRetrieval>['retrieveAsPerson'];
  measureStorage: ReturnType<typeof createMeasureStorage>;
  /** Looks whether the models have changed. */
  reload(): void;
} {
  const { sql, searchSql, objects, meilisearch, invalidation, clock, log, settings } = deps;
  const store = createDocumentStore(sql, createSearchEntries(), { reads: settings.content.reads });
  const { bucket } = objects;
  const search = createDocumentSearch({ sql, searchSql, bucket, meilisearch, log });
  const documents = createCachedLookup({
    load: store.locate,
    ttlMs: CACHE_TTL_MS,
    entriesMax: CACHED_DOCUMENTS_MAX,
    usable: invalidation.connected,
  });
  invalidation.subscribe('documents', documents.drop, documents.reset);

  const objectsQueued = deps.queue.register({
    kind: OBJECT_DELETION,
    batchMax: KEYS_PER_CALL_MAX,
    // An object that the store refuses to delete is tried again later.
    handle: async (jobs) => {
      // They were queued before this moment, and a later backup does not need them any more.
      if (await isRunning(sql, BACKUP_LOCK)) return jobs.map(() => ({ retry: 'a backup is running' }));
      const keys = jobs.map((job) => (job.payload as { key: string }).key);
      const refused = await objects.remove(keys.map((key) => ({ key })));
      return keys.map((key) => {
        const reason = refused.get(key);
        return reason === undefined ? 'done' : { retry: reason };
      });
    },
    pollMs: 5000,
    leaseMs: DELETION_LEASE_MS,
    // What was purged must not stay in the store: only the store's absence delays it, and that ends.
    attemptsMax: Number.POSITIVE_INFINITY,
  });
  const discarded = createBatcher<Removal>({
    itemsMax: KEYS_PER_CALL_MAX,
    waitingMax: 100 * KEYS_PER_CALL_MAX,
    delayMs: 50,
    run: async (removals) => {
      // What can't be deleted now is left to the sweeper.
      await objects
        .remove(removals)
        .catch((error: unknown) => log.debug({ err: error }, 'discarded objects stay for now'));
    },
  });

  const custody = createBucketCustody({ store: createCustodyStore(sql), objects, log });
  const vectors = createVectors({
    sql,
    searchSql,
    queue: deps.queue,
    embeddings: deps.embeddings,
    settings: { ...settings.vectors, catchUpIntervalSeconds: settings.sweepIntervalSeconds },
    log,
  });
  const retrieval = createRetrieval({
    sql,
    searchSql,
    search,
    documents: store,
    searchVectors: vectors.searchVectors,
    findUserByEmail: deps.findUserByEmail,
    catchUpIntervalSeconds: settings.sweepIntervalSeconds,
    log,
  });
  const content = createContent({
    sql,
    words: retrieval.words,
    objects,
    queue: deps.queue,
    documents: store,
    requireWorkspace: deps.requireWorkspace,
    replaced: vectors.wake,
    settings: { ...settings.content, catchUpIntervalSeconds: settings.sweepIntervalSeconds },
    log,
  });
  const feed = createFeed(sql);
  const history = createHistory({ sql, documents: store, findUser: deps.findUser, clock, settings, log });
  const find = createSearch(search.search);
  const visibleAmong = async (viewer: Viewer, ids: readonly string[]): Promise<Set<string>> =>
    new Set((await store.visibleAmong(viewer, ids)).map(({ id }) => id));
  const bin = createBin({ store, documents, objectsQueued });
  const routes: Routes = (http) =>
    new Elysia({ name: 'documents' })
      .use(
        uploadRoutes(http, {
          presigner: objects,
          uploadBytesMax: settings.uploadBytesMax,
          confirm: createConfirm({
            store,
            objects,
            onRecorded: content.wake === undefined ? [custody.recorded] : [custody.recorded, content.wake],
            discard: discarded.add,
            findUser: deps.findUser,
            uploadBytesMax: settings.uploadBytesMax,
          }),
          download: createDownload({ documents, presigner: objects, clock }),
          bucket,
        }),
      )
      .use(
        metadataRoutes(http, {
          edit: createEdit({ store, documents, findUser: deps.findUser }),
          store,
          bucket,
        }),
      )
      .use(searchRoutes(http, { search: find, store, bucket }))
      .use(binRoutes(http, { bin, store, bucket }))
      .use(content.routes(http))
      .use(retrieval.routes(http))
      .use(feed.routes(http))
      .use(history.routes(http));

  const periodic = (name: string, run: (signal: AbortSignal) => Promise<void>): Job =>
    createPeriodic({
      name,
      intervalMs: settings.sweepIntervalSeconds * 1000,
      delayMs: UPKEEP_DELAY_MS,
      // One process at a time sweeps; the others find the lock taken and wait for their next turn.
      run: (signal) => exclusively(sql, name, (lock) => run(AbortSignal.any([signal, lock.signal]))),
      log,
    });
  const sweep = createSweep({
    store,
    objects,
    custody,
    isBackedUp: () => isRunning(sql, BACKUP_LOCK),
    log,
    retentionSeconds: settings.uploadRetentionSeconds,
  });
  const retentionDays = settings.trashRetentionDays;
  const retention = (signal: AbortSignal): Promise<void> =>
    bin.expire(new Date(clock.now().getTime() - retentionDays * 86_400_000), signal);
  return {
    routes,
    measureStorage: createMeasureStorage(sql),
    reload: vectors.reload,
    visibleTo: (principal, ids) => visibleAmong(toViewer(principal), ids),
    visibleToPerson: async (person, ids) => visibleAmong(await viewerOf(deps.findUserByEmail, person), ids),
    searchAsPerson: createSearchAsPerson(find, deps.findUserByEmail),
    retrieve: retrieval.retrieve,
    retrieveAsPerson: retrieval.retrieveAsPerson,
    checks: [custody.check, ...search.checks, ...vectors.checks],
    metrics: [...search.metrics, ...vectors.metrics],
    jobs: [
      ...search.jobs,
      { name: 'documents.discard', start: () => undefined, stop: discarded.flush, settle: discarded.flush },
      custody.job,
      ...content.jobs,
      ...vectors.jobs,
      ...retrieval.jobs,
      ...history.jobs,
      periodic('documents.sweep', sweep),
      periodic('documents.forget-purged', (signal) => feed.forget(clock.now(), signal)),
      ...(retentionDays > 0 ? [periodic('documents.retention', retention)] : []),
    ],
  };
}
