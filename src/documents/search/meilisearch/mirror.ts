// The mirror: an index of the search server that is kept equal to the documents. Of all processes one writes; when it
// ends, however it ends, another takes over.

import type { Job } from '../../../core/lifecycle.ts';
import type { Logger } from '../../../core/logger.ts';
import { createPeriodic } from '../../../core/periodic.ts';
import { gauge as gaugeOf, type Metric } from '../../../http/metrics.ts';
import type { ServiceState } from '../../../http/readiness.ts';
import { createIndexes } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import { exclusively } from '../../../infra/postgres/exclusive.ts';
import { type Backlog, createOutbox, NO_BACKLOG } from './outbox.ts';
import { createReconciliation, type Drift } from './reconcile.ts';
import { createRegistrations } from './registrations.ts';
import { createWriterJob, WRITER_LOCK } from './writer.ts';

export type MirrorSettings = { url: string; apiKey: string | undefined; indexPrefix: string };

export type Mirror = ReturnType<typeof createMirror>;

const FIGURES_INTERVAL_MS = 5_000;
const REPAIR_INTERVAL_MS = 3_600_000;
const RETIREMENT_INTERVAL_MS = 60_000;
const PROGRESS_MS = 500;
const HEALTH_TIMEOUT_MS = 1_500;
/** Changes are to be found within two seconds; beyond this somebody should look. */
const LAG_SECONDS_MAX = 30;

export function createMirror(deps: { sql: Sql; settings: MirrorSettings; log: Logger }) {
  const { sql, settings, log } = deps;
  const indexes = createIndexes(settings);
  const outbox = createOutbox(sql);
  const registrations = createRegistrations(sql);
  const reconciliation = createReconciliation({ sql, indexes });
  const isReady = async (): Promise<boolean> =>
    (await registrations.list()).some(({ ready, outdated }) => ready && !outdated);
  let known: Backlog & { ready: boolean } = { ...NO_BACKLOG, ready: false };
  const look = async (): Promise<typeof known> => {
    known = { ...(await outbox.backlog()), ready: await isReady() };
    return known;
  };
  const openedAt = performance.now();
  const repair = async (signal: AbortSignal): Promise<void> => {
    // A start has enough to do.
    if (performance.now() - openedAt < REPAIR_INTERVAL_MS / 2 || !(await isReady())) return;
    await outbox.retryRefused();
    const { missing, extra, different } = await reconciliation.run({ repair: true, signal });
    if (missing + extra + different === 0) return;
    log.warn({ missing, extra, different }, 'the search index had drifted; the documents are sent again');
  };

  return {
    jobs: [
      createWriterJob({ sql, indexes, indexPrefix: settings.indexPrefix, log }),
      createPeriodic({
        name: 'documents.mirror-metrics',
        intervalMs: FIGURES_INTERVAL_MS,
        run: async () => void (await look()),
        log,
      }),
      createPeriodic({
        name: 'documents.mirror-repair',
        intervalMs: REPAIR_INTERVAL_MS,
        run: (signal) =>
          exclusively(sql, 'documents.mirror-repair', (lock) =>
            repair(AbortSignal.any([signal, lock.signal])),
          ),
        log,
      }),
    ],
    metrics: [
      gauge('outbox_documents', 'Changed documents that the search server lacks.', () => known.waiting),
      gauge('outbox_lag_seconds', 'How long the first of them has waited.', () => known.lagSeconds),
      gauge('refused_documents', 'Documents that the search server refuses.', () => known.refused),
    ],
    /** For the probe of readiness: the search server and what it lacks. */
    async state(): Promise<ServiceState> {
      const { waiting, lagSeconds, refused, ready } = await look();
      const metrics = { waiting, lag_seconds: Math.round(lagSeconds * 10) / 10, refused };
      const healthy = await indexes.healthy(AbortSignal.timeout(HEALTH_TIMEOUT_MS)).catch(() => false);
      const as = (state: ServiceState['state'], detail?: string): ServiceState => ({
        state,
        ...metrics,
        ...(detail === undefined ? {} : { detail }),
      });
      if (!healthy) return as('down', 'Postgres answers searches alone; changes wait');
      if (!ready) return as('degraded', 'Postgres answers searches alone while the index is filled');
      return lagSeconds > LAG_SECONDS_MAX ? as('degraded', 'changes reach the index late') : as('ready');
    },
    /**
     * Has the index made anew by the process that writes. Resolves when the new one answers, and has every change that
     * waited for it then, except those of refused documents.
     */
    async reindex(progress: (sentence: string) => void): Promise<void> {
      await registrations.requestRebuild();
      while (!(await isReady())) {
        const { queued, documents } = await registrations.progress();
        progress(`queued ${queued} of ${documents} documents`);
        await Bun.sleep(PROGRESS_MS);
      }
      const { last } = await outbox.backlog();
      for (;;) {
        const { first, waiting } = await outbox.backlog();
        if (first === null || last === null || first > last) return;
        progress(`the new index answers; ${waiting} documents wait to be sent to it`);
        await Bun.sleep(PROGRESS_MS);
      }
    },
    /** Compares every document with the index; with `repair`, what differs is sent again. */
    verify: (repairs: boolean): Promise<Drift> =>
      reconciliation.run({ repair: repairs, signal: new AbortController().signal }),
  };
}

/**
 * For a start without a search server: ends what an earlier one has left, so that the outbox does not grow. Not while
 * another process writes to a search server: it says by its lock that it has one.
 */
export const createMirrorRetirement = ({ sql, log }: { sql: Sql; log: Logger }): Job =>
  createPeriodic({
    name: 'documents.mirror-retirement',
    intervalMs: RETIREMENT_INTERVAL_MS,
    async run() {
      if ((await createRegistrations(sql).list()).length === 0) return;
      await exclusively(sql, WRITER_LOCK, async () => {
        await sql.begin(async (tx) => {
          const registrations = createRegistrations(tx);
          await registrations.retire((await registrations.list()).map(({ indexUid }) => indexUid));
          await createOutbox(tx).clear();
        });
        log.info({}, 'no search server is set any more: its index is given up');
      });
    },
    log,
  });

/** All processes have the same index. */
const gauge = (name: string, help: string, value: () => number): Metric =>
  gaugeOf(`atrium_search_${name}`, help, value, 'largest');
