// The one writer: reads what waits, sends it, and removes it from the outbox once the server has done it. One round
// ends before the next begins, so that an index never gets an older state of a document after a newer one. Of all
// processes the one writes that holds the lock, for as long as its connection lives.

import type { Job } from '../../../core/lifecycle.ts';
import type { Logger } from '../../../core/logger.ts';
import { createPause, sleep } from '../../../core/wait.ts';
import { type Indexes, IndexingError } from '../../../infra/meilisearch/indexes.ts';
import type { Sql, Transaction } from '../../../infra/postgres/client.ts';
import { openLease } from '../../../infra/postgres/exclusive.ts';
import { createDelivery } from './delivery.ts';
import { type Change, createOutbox } from './outbox.ts';
import { createRebuild } from './rebuild.ts';
import { createRegistrations, type Registration } from './registrations.ts';

export const WRITER_LOCK = 'documents.mirror';
const LOCK_RETRY_MS = 500;
const POLL_MS = 25;
const ROUND_LIMITS = { documentsMax: 8000, bytesMax: 20_000_000 };
const IDLE_MS = 200;
const HORIZON_POLL_MS = 20;
/** Between two looks at whether the server still has our indexes. */
const INSPECTION_INTERVAL_MS = 15_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5_000;
/** The outbox is small and churns: without this every read of it would pass over what was removed. */
const REMOVALS_PER_VACUUM = 50_000;

type WriterDeps = { indexes: Indexes; indexPrefix: string; log: Logger };

/**
 * Takes over within a second of another process's end, and when one hangs for longer than its lease; a lost connection
 * ends the writing at once.
 */
export function createWriterJob(deps: WriterDeps & { sql: Sql }): Job {
  const { sql, log } = deps;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const pause = createPause();
  /** May be on its way to the server while another process writes already: to be sent again after it. */
  let adrift: readonly Change[] = [];

  /** Writes until the signal, or until the database fails it; a server that is away is waited for. */
  const write = async (connection: Transaction, signal: AbortSignal): Promise<void> => {
    const onFlight = (changes: readonly Change[]): void => {
      adrift = changes;
    };
    let round = createRound({ ...deps, sql: connection, onFlight });
    let retryMs = 0;
    while (!signal.aborted) {
      try {
        const idleMs = await round(signal);
        if (retryMs > 0) log.info({}, 'the search server is fed again');
        retryMs = 0;
        if (idleMs > 0) await pause.take(idleMs, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof IndexingError)) throw error;
        if (retryMs === 0) log.warn({ err: error }, 'the search server is not fed; changes wait for it');
        // A new series of rounds begins with an inspection: all that was on its way is waited for before anything is
        // sent again.
        round = createRound({ ...deps, sql: connection, onFlight });
        retryMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, retryMs * 2));
        await sleep(retryMs * (0.5 + Math.random() / 2), signal);
      }
    }
  };

  /** Once: connects, waits for the lock, writes for as long as it is held. */
  const serve = async (): Promise<void> => {
    const lease = openLease(sql);
    const { connection } = lease;
    const signal = AbortSignal.any([stopping.signal, lease.signal]);
    try {
      for (;;) {
        const [row] = await connection<{ held: boolean }[]>`
          SELECT pg_try_advisory_lock(hashtextextended(${WRITER_LOCK}, 0)) AS held`;
        if (adrift.length > 0) await createOutbox(connection).add(adrift);
        adrift = [];
        if (row?.held === true) break;
        await sleep(LOCK_RETRY_MS, signal);
        if (signal.aborted) return;
      }
      await write(connection, signal);
    } finally {
      lease.release();
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await serve().catch((error: unknown) => {
        if (!stopping.signal.aborted)
          log.warn({ err: error }, 'the mirror stopped; it will be taken up again');
      });
      await sleep(LOCK_RETRY_MS, stopping.signal);
    }
  };

  const isSettled = async (): Promise<boolean> => {
    const registered = await createRegistrations(sql).list();
    const ready = registered.length === 1 && registered[0]?.ready === true && !registered[0].outdated;
    return ready && (await createOutbox(sql).backlog()).waiting === 0;
  };

  return {
    name: 'documents.mirror',
    start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
    async settle() {
      while (!stopping.signal.aborted && !(await isSettled())) {
        pause.wake();
        await Bun.sleep(POLL_MS);
      }
    },
  };
}

/**
 * A series of rounds over the connection that holds the lock: what they read they read as the only writer. Each resolves
 * with how long nothing is expected to be due, in milliseconds. `onFlight` hears of what may be on its way to the server,
 * and of nothing once that is settled.
 */
function createRound(deps: WriterDeps & { sql: Transaction; onFlight(changes: readonly Change[]): void }) {
  const { sql, indexes, log, onFlight } = deps;
  const outbox = createOutbox(sql);
  const registrations = createRegistrations(sql);
  const delivery = createDelivery(indexes);
  const rebuild = createRebuild(deps);
  let removals = 0;

  const settle = async (changes: readonly Change[], reasons: ReadonlyMap<string, string>): Promise<void> => {
    for (const change of changes) {
      const reason = reasons.get(change.id);
      if (reason === undefined) continue;
      log.warn({ document: change.id, reason }, 'the search server refuses a document');
      await outbox.refuse(change, reason);
    }
    await outbox.acknowledge(changes.filter(({ id }) => !reasons.has(id)));
    removals += changes.length;
    if (removals < REMOVALS_PER_VACUUM) return;
    removals = 0;
    await sql`VACUUM search_outbox`.catch((error: unknown) =>
      log.debug({ err: error }, 'the outbox is cleaned up later'),
    );
  };

  /** Whether there was anything to send. */
  const drain = async (registered: readonly Registration[], signal: AbortSignal): Promise<boolean> => {
    const targets = registered.filter(({ serverMadeAt }) => serverMadeAt !== null);
    if (targets.length === 0 || targets.length < registered.length) return false;
    const changes = await outbox.take(ROUND_LIMITS);
    if (changes.length === 0) return false;
    const outcomes = await Promise.allSettled(
      targets.map(async (target) => {
        const { refused, task } = await delivery.deliver(target, changes, signal, onFlight);
        await registrations.noteTask(target.indexUid, task);
        return refused;
      }),
    );
    const refused = outcomes.flatMap((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
    signal.throwIfAborted();
    await settle(changes, new Map(refused.map(({ id, reason }) => [id, reason])));
    return true;
  };

  let inspectedAt = Number.NEGATIVE_INFINITY;
  return async (signal: AbortSignal): Promise<number> => {
    let registered = await registrations.list();
    if (await rebuild.retireUseless(registered)) return 0;
    if (performance.now() - inspectedAt > INSPECTION_INTERVAL_MS) {
      if (await rebuild.inspect(registered, signal)) return 0;
      inspectedAt = performance.now();
    }
    const step = await rebuild.step(registered, signal);
    if (step === 'more') registered = await registrations.list();
    const sent = await drain(registered, signal);
    onFlight([]);
    if (sent || step === 'more') return 0;
    return step === 'done' ? IDLE_MS : HORIZON_POLL_MS;
  };
}
