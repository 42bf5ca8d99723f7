// The one writer: reads what waits, sends it, and removes it from the outbox once the server has done it. One round
// ends before the next begins, so that an index never gets an older state of a document after a newer one.

import type { Logger } from '../../../core/logger.ts';
import { type Indexes, IndexingError } from '../../../infra/meilisearch/indexes.ts';
import type { Transaction } from '../../../infra/postgres/client.ts';
import { createDelivery, type Sendable } from './delivery.ts';
import { type Change, createOutbox } from './outbox.ts';
import { createRebuild } from './rebuild.ts';
import { createRegistrations, type Registration } from './registrations.ts';

const ROUND_LIMITS = { documentsMax: 4000, bytesMax: 20_000_000 };
const IDLE_MS = 200;
const HORIZON_POLL_MS = 20;
/** Between two looks at whether the server still has our indexes. */
const INSPECTION_INTERVAL_MS = 15_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5_000;
/** The outbox is small and churns: without this every read of it would pass over what was removed. */
const REMOVALS_PER_VACUUM = 50_000;

export type WriterDeps = {
  /** The connection that holds the writer's lock: what it reads it reads as the only writer. */
  sql: Transaction;
  indexes: Indexes;
  indexPrefix: string;
  log: Logger;
  /** Told of what may be on its way to the server, and of nothing once that is settled. */
  onFlight(documents: readonly Sendable[]): void;
  /** Resolves after the time, or before it when there may be something to do and `wakeable`, or at the end. */
  pause(timeoutMs: number, wakeable: boolean): Promise<void>;
};

export function createWriter({ sql, indexes, indexPrefix, log, onFlight, pause }: WriterDeps) {
  const outbox = createOutbox(sql);
  const registrations = createRegistrations(sql);
  const delivery = createDelivery({ indexes, onFlight });
  const rebuild = createRebuild({ indexes, registrations, outbox, delivery, indexPrefix, log });
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
    await outbox
      .vacuum()
      .catch((error: unknown) => log.debug({ err: error }, 'the outbox is cleaned up later'));
  };

  /** Whether there was anything to send. */
  const drain = async (registered: readonly Registration[], signal: AbortSignal): Promise<boolean> => {
    const targets = registered.filter(({ serverMadeAt }) => serverMadeAt !== null);
    if (targets.length === 0 || targets.length < registered.length) return false;
    const changes = await outbox.take(ROUND_LIMITS);
    if (changes.length === 0) return false;
    const outcomes = await Promise.allSettled(
      targets.map(async (target) => {
        const { refused, task } = await delivery.deliver(target, changes, signal);
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
  const round = async (signal: AbortSignal): Promise<void> => {
    let registered = await registrations.list();
    if (await rebuild.retireUseless(registered)) return;
    if (performance.now() - inspectedAt > INSPECTION_INTERVAL_MS) {
      if (await rebuild.inspect(registered, signal)) return;
      inspectedAt = performance.now();
    }
    const step = await rebuild.step(registered, signal);
    if (step === 'more') registered = await registrations.list();
    const sent = await drain(registered, signal);
    onFlight([]);
    if (!sent && step !== 'more') await pause(step === 'done' ? IDLE_MS : HORIZON_POLL_MS, true);
  };

  return {
    /** Writes until the signal, or until the database fails it; a server that is away is waited for. */
    async run(signal: AbortSignal): Promise<void> {
      let retryMs = 0;
      while (!signal.aborted) {
        try {
          await round(signal);
          if (retryMs > 0) log.info({}, 'the search server is fed again');
          retryMs = 0;
        } catch (error) {
          if (signal.aborted || !(error instanceof IndexingError)) throw error;
          if (retryMs === 0) log.warn({ err: error }, 'the search server is not fed; changes wait for it');
          // Whatever was on its way is waited for, and the indexes are looked at, before anything is sent again.
          inspectedAt = Number.NEGATIVE_INFINITY;
          retryMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, retryMs * 2));
          await pause(retryMs * (0.5 + Math.random() / 2), false);
        }
      }
    },
  };
}
