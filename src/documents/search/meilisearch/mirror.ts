// The mirror: an index of the search server that is kept equal to the documents. Of all processes the one that holds the lock writes:
// it sends the documents of the outbox in their order of change, and removes them there once the server has done it. One round ends
// before the next begins, so that the index never gets an older state of a document after a newer one.

import { randomBase62 } from '../../../core/ids.ts';
import type { Job } from '../../../core/lifecycle.ts';
import type { Logger } from '../../../core/logger.ts';
import { createPeriodic } from '../../../core/periodic.ts';
import { createPause, sleep } from '../../../core/wait.ts';
import { gauge } from '../../../http/metrics.ts';
import type { ServiceState } from '../../../http/readiness.ts';
import { createIndexes, IndexingError } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import { exclusively, type Lease } from '../../../infra/postgres/exclusive.ts';
import { FIRST_ID } from '../../rows.ts';
import { waitForEarlierTransactions } from '../../transactions.ts';
import { INDEX_SETTINGS, INDEX_VERSION, toMirrored } from './document.ts';
import { type Change, createOutbox, NO_BACKLOG } from './outbox.ts';
import { verifyIndex } from './verify.ts';

export type MirrorSettings = { url: string; apiKey: string | undefined; indexPrefix: string };

export type Mirror = ReturnType<typeof createMirror>;

/** The index that is fed, and the last of the server's tasks that is known to be done. */
type Registration = { uid: string; version: string; ready: boolean; serverMadeAt: string; task: number };

const LOCK = 'documents.mirror';
const LOCK_RETRY_MS = 2000;
const ROUND_LIMITS = { documentsMax: 8000, bytesMax: 20_000_000 };
const QUEUED_AT_ONCE = 5000;
const IDLE_MS = 200;
const POLL_MS = 25;
const PROGRESS_MS = 500;
/** Between two checks that the server still has the index. */
const INSPECTION_INTERVAL_MS = 15_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5000;
const METRICS_INTERVAL_MS = 5000;
const RETIREMENT_INTERVAL_MS = 60_000;
const HEALTH_TIMEOUT_MS = 1500;
/** Changes are to be found within two seconds; beyond this somebody should look. */
const LAG_SECONDS_MAX = 30;

export function createMirror({ sql, settings, log }: { sql: Sql; settings: MirrorSettings; log: Logger }) {
  const indexes = createIndexes(settings);
  const outbox = createOutbox(sql);
  const namePrefix = `${settings.indexPrefix}_documents_`;
  const stopping = new AbortController();
  const pause = createPause();
  let running: Promise<void> = Promise.resolve();
  /** Sent, but not known to be done: the server may take it after what another process sends by then, so it is sent again. */
  let unsettled: readonly Change[] = [];
  let backlog = NO_BACKLOG;

  const findRegistration = async (): Promise<Registration | undefined> => {
    const [row] = await sql<Registration[]>`
      SELECT index_uid AS uid, version, ready, server_made_at AS "serverMadeAt", task FROM search_mirror`;
    return row;
  };
  const isReady = async (): Promise<boolean> => {
    const index = await findRegistration();
    return index?.ready === true && index.version === INDEX_VERSION;
  };

  /** Makes a new index instead of a former one. From here on, every change is queued for it. */
  async function register(former: Registration | undefined, signal: AbortSignal): Promise<void> {
    if (former !== undefined) {
      await sql`UPDATE search_mirror SET ready = false`;
      await indexes.drop(former.uid, signal);
    }
    const uid = `${namePrefix}${randomBase62(6)}`;
    await indexes.prepare(uid, INDEX_SETTINGS, signal);
    const [madeAt, task] = await Promise.all([indexes.madeAt(uid, signal), indexes.newestTask(signal)]);
    await sql`
      WITH former AS (DELETE FROM search_mirror)
      INSERT INTO search_mirror (index_uid, version, server_made_at, task)
      VALUES (${uid}, ${INDEX_VERSION}, ${madeAt ?? ''}, ${task})`;
    log.info({ index: uid }, 'a new search index is being filled; until then Postgres answers alone');
  }

  /** Queues all documents. The index is ready then: what it lacks is in the outbox. */
  async function fill({ uid }: Registration, signal: AbortSignal): Promise<void> {
    // Transactions that began before the index was registered have not queued their changes for it.
    await waitForEarlierTransactions(sql, signal);
    for (let after: string | null = FIRST_ID; after !== null; ) {
      signal.throwIfAborted();
      const rows: { last: string | null }[] = await sql`
        WITH page AS MATERIALIZED (
          SELECT id, workspace_id FROM documents WHERE id > ${after} ORDER BY id LIMIT ${QUEUED_AT_ONCE})
        SELECT max(id::text) AS last, search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM page`;
      after = rows[0]?.last ?? null;
    }
    await sql`UPDATE search_mirror SET ready = true WHERE index_uid = ${uid}`;
    log.info({ index: uid }, 'the search index answers for workspaces without pending changes');
  }

  /** True if the server has no such index, another one of its name, or an older state. */
  async function isLost({ uid, serverMadeAt, task }: Registration, signal: AbortSignal): Promise<boolean> {
    const [madeAt, newestTask] = await Promise.all([indexes.madeAt(uid, signal), indexes.newestTask(signal)]);
    if (madeAt === serverMadeAt && newestTask >= task) return false;
    log.warn({ index: uid }, 'the search server has lost an index; it is made anew');
    return true;
  }

  /** When this returns, the server has done all of it but what it refuses; when it throws, all of it is to be sent again. */
  async function deliver(
    index: Registration,
    changes: readonly Change[],
    signal: AbortSignal,
  ): Promise<{ refused: (Change & { reason: string })[]; task: number }> {
    const [first] = changes;
    try {
      const tasks: number[] = [];
      const removed = changes.filter(({ document }) => document === undefined).map(({ id }) => id);
      if (removed.length > 0) tasks.push(await indexes.remove(index.uid, removed, signal));
      const lines = await toLines(changes);
      if (lines.length > 0) tasks.push(await indexes.replace(index.uid, lines.join('\n'), signal));
      if (tasks.some((task) => task <= index.task))
        throw new IndexingError('the search server has lost what it had');
      for (const task of tasks) await indexes.done(task, signal);
      return { refused: [], task: Math.max(...tasks) };
    } catch (error) {
      if (!(error instanceof IndexingError && error.refused)) throw error;
      if (changes.length === 1 && first !== undefined)
        return { refused: [{ ...first, reason: error.code }], task: -1 };
    }
    // Some document of these is refused: they are halved until it is alone.
    const middle = Math.ceil(changes.length / 2);
    const one = await deliver(index, changes.slice(0, middle), signal);
    const other = await deliver(index, changes.slice(middle), signal);
    return { refused: [...one.refused, ...other.refused], task: Math.max(one.task, other.task) };
  }

  /** Sends what is pending; returns whether there was anything. */
  async function drain(index: Registration, lease: Lease, signal: AbortSignal): Promise<boolean> {
    const changes = await outbox.take(ROUND_LIMITS);
    if (changes.length === 0) return false;
    unsettled = changes;
    const { refused, task } = await deliver(index, changes, signal);
    const failed = refused.filter(({ reason }) => reason === 'internal');
    if (failed.length > 1 && failed.length === changes.length)
      throw new IndexingError('the search server fails at every document');
    signal.throwIfAborted();
    lease.assert();
    await sql`UPDATE search_mirror SET task = greatest(task, ${task}) WHERE index_uid = ${index.uid}`;
    for (const { id, sequence, reason } of refused) {
      log.warn({ document: id, reason }, 'the search server refuses a document');
      await outbox.refuse({ id, sequence }, reason);
    }
    const refusedIds = new Set(refused.map(({ id }) => id));
    await outbox.acknowledge(changes.filter(({ id }) => !refusedIds.has(id)));
    unsettled = [];
    return true;
  }

  /** Writes until the signal, or until the database fails; a server that is away is waited for. */
  async function write(lease: Lease): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, lease.signal]);
    let inspectedAt = Number.NEGATIVE_INFINITY;
    let retryMs = 0;
    while (!signal.aborted) {
      try {
        const index = await findRegistration();
        const isDue = performance.now() - inspectedAt > INSPECTION_INTERVAL_MS;
        const isOurs = index?.version === INDEX_VERSION && index.uid.startsWith(namePrefix);
        if (index === undefined || !isOurs || (isDue && (await isLost(index, signal))))
          await register(index, signal);
        else if (!index.ready) await fill(index, signal);
        else if (!(await drain(index, lease, signal))) await pause.take(IDLE_MS, signal);
        if (isDue) inspectedAt = performance.now();
        if (retryMs > 0) log.info({}, 'the search server is fed again');
        retryMs = 0;
      } catch (error) {
        if (signal.aborted || !(error instanceof IndexingError)) throw error;
        if (retryMs === 0) log.warn({ err: error }, 'the search server is not fed; changes wait for it');
        inspectedAt = Number.NEGATIVE_INFINITY;
        retryMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, retryMs * 2));
        await sleep(retryMs * (0.5 + Math.random() / 2), signal);
      }
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await exclusively(sql, LOCK, write);
      } catch (error) {
        if (!stopping.signal.aborted)
          log.warn({ err: error }, 'the mirror stopped; it will be taken up again');
      }
      if (unsettled.length > 0)
        await outbox.add(unsettled).then(
          () => {
            unsettled = [];
          },
          () => undefined,
        );
      await sleep(LOCK_RETRY_MS, stopping.signal);
    }
  }

  const look = async (): Promise<typeof backlog> => {
    backlog = await outbox.backlog();
    return backlog;
  };

  return {
    jobs: [
      {
        name: LOCK,
        start() {
          running = run();
        },
        async stop() {
          stopping.abort();
          await running;
        },
        async settle() {
          while (!stopping.signal.aborted && !((await isReady()) && (await look()).waiting === 0)) {
            pause.wake();
            await Bun.sleep(POLL_MS);
          }
        },
      },
      createPeriodic({ name: 'documents.mirror-metrics', intervalMs: METRICS_INTERVAL_MS, run: look, log }),
    ] satisfies Job[],
    // All processes have the same index.
    metrics: [
      gauge(
        'atrium_search_outbox_documents',
        'Changed documents that the search server lacks.',
        () => backlog.waiting,
        'largest',
      ),
      gauge(
        'atrium_search_outbox_lag_seconds',
        'How long the first of them has waited.',
        () => backlog.lagSeconds,
        'largest',
      ),
    ],
    /** For the probe of readiness: the search server and what it lacks. */
    async state(): Promise<ServiceState> {
      const { waiting, lagSeconds, refused } = await look();
      const ready = await isReady();
      const healthy = await indexes.healthy(AbortSignal.timeout(HEALTH_TIMEOUT_MS)).catch(() => false);
      const metrics = { waiting, lag_seconds: Math.round(lagSeconds * 10) / 10, refused };
      const degraded = (detail: string): ServiceState => ({ state: 'degraded', ...metrics, detail });
      if (!healthy) return { ...degraded('Postgres answers searches alone; changes wait'), state: 'down' };
      if (!ready) return degraded('Postgres answers searches alone while the index is filled');
      return lagSeconds > LAG_SECONDS_MAX
        ? degraded('changes reach the index late')
        : { state: 'ready', ...metrics };
    },
    /**
     * Has the index made anew by the process that writes. Resolves when the new one answers, and has every change that
     * waited for it then, except those of refused documents.
     */
    async reindex(progress: (sentence: string) => void): Promise<void> {
      await sql`UPDATE search_mirror SET version = ''`;
      while (!(await isReady())) {
        progress(`${(await look()).waiting} documents are queued for the new index`);
        await Bun.sleep(PROGRESS_MS);
      }
      const { last } = await look();
      for (;;) {
        const { first, waiting } = await look();
        if (first === null || last === null || first > last) return;
        progress(`the new index answers; ${waiting} documents wait to be sent to it`);
        await Bun.sleep(PROGRESS_MS);
      }
    },
    /** Compares every document with the index; with `repair`, what differs is sent again. */
    async verify(repair: boolean) {
      const index = await findRegistration();
      if (index?.ready !== true) throw new IndexingError('there is no complete index yet');
      return verifyIndex({ sql, indexes, indexUid: index.uid, repair });
    },
  };
}

/** Documents as lines of JSON. Pauses for others now and then: a thousand documents take some tens of milliseconds. */
async function toLines(changes: readonly Change[]): Promise<string[]> {
  const lines: string[] = [];
  for (const { document } of changes) {
    if (document === undefined) continue;
    lines.push(JSON.stringify(await toMirrored(document)));
    if (lines.length % 50 === 0) await Bun.sleep(0);
  }
  return lines;
}

/**
 * For a start without a search server: gives up what an earlier one has left, so that the outbox does not grow. Not while another
 * process writes to a search server.
 */
export const createMirrorRetirement = ({ sql, log }: { sql: Sql; log: Logger }): Job =>
  createPeriodic({
    name: 'documents.mirror-retirement',
    intervalMs: RETIREMENT_INTERVAL_MS,
    async run() {
      if ((await sql`SELECT FROM search_mirror`).length === 0) return;
      await exclusively(sql, LOCK, async () => {
        await sql`DELETE FROM search_mirror`;
        await createOutbox(sql).clear();
        log.info({}, 'no search server is set any more: its index is given up');
      });
    },
    log,
  });
