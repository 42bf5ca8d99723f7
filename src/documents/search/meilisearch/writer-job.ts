// Who of all processes writes: the one that holds the lock, for as long as its connection lives.

import type { Job } from '../../../core/lifecycle.ts';
import { createPause, sleep } from '../../../core/wait.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import { openLease } from '../../../infra/postgres/exclusive.ts';
import type { Sendable } from './delivery.ts';
import { createOutbox } from './outbox.ts';
import { createRegistrations } from './registrations.ts';
import { createWriter, type WriterDeps } from './writer.ts';

export const WRITER_LOCK = 'documents.mirror';
const LOCK_RETRY_MS = 500;
const POLL_MS = 25;

/**
 * Takes over within a second of another process's end, and when one hangs for longer than its lease; a lost connection
 * ends the writing at once.
 */
export function createWriterJob(
  deps: Pick<WriterDeps, 'indexes' | 'indexPrefix' | 'log'> & { sql: Sql },
): Job {
  const { sql, indexes, indexPrefix, log } = deps;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const pause = createPause();
  /** May be on its way to the server while another process writes already: to be sent again after it. */
  let adrift: readonly Sendable[] = [];

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
      const writer = createWriter({
        ...{ sql: connection, indexes, indexPrefix, log },
        onFlight: (documents) => {
          adrift = documents;
        },
        pause: (timeoutMs, wakeable) => (wakeable ? pause.take(timeoutMs, signal) : sleep(timeoutMs, signal)),
      });
      await writer.run(signal);
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
