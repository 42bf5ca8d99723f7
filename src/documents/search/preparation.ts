// Bringing the entries of all documents into the form of this version: at the first start with search, and again
// whenever their form changes. Until that is done a search could miss documents, so none is answered.

import { unavailable } from '../../core/errors.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { endsWithin } from '../../core/wait.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { exclusively, type Lease } from '../../infra/postgres/exclusive.ts';
import { areEntriesCurrent, rewriteEntries } from './entries.ts';

const NAME = 'documents.search-entries';
const PAUSE_MS = 500;
/** A start waits this long: with few documents search is there with everything else. */
const START_WAIT_MS = 2000;

export function createPreparation({ sql, log }: { sql: Sql; log: Logger }) {
  const stopping = new AbortController();
  let done = false;
  let running: Promise<void> = Promise.resolve();

  const rewriteAll = async (lock: Lease): Promise<void> => {
    if (await areEntriesCurrent(sql)) return;
    log.info({}, 'preparing search: every document is read once');
    await rewriteEntries(sql, () => {
      stopping.signal.throwIfAborted();
      lock.assert();
    });
    log.info({}, 'search is prepared');
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        done = await areEntriesCurrent(sql);
        if (done) return;
        // Another process may be at it; then we look again.
        await exclusively(sql, NAME, rewriteAll);
        done = await areEntriesCurrent(sql);
        if (done) return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ err: error }, 'search could not be prepared; it will be tried again');
      }
      await Bun.sleep(PAUSE_MS);
    }
  };

  return {
    job: {
      name: NAME,
      async start() {
        running = run();
        await endsWithin(running, START_WAIT_MS);
      },
      async stop() {
        stopping.abort();
        await running;
      },
      settle: () => running,
    } satisfies Job,
    /** Throws 503 until every entry is there. */
    assertDone(): void {
      if (!done) throw unavailable('Search is being prepared; documents are read for it');
    },
  };
}
