// Bringing the entries of all documents into the form of this version: at the first start with search, and again
// whenever their form changes. Until that is done a search could miss documents, so none is answered.

import { unavailable } from '../../../core/errors.ts';
import type { Job } from '../../../core/lifecycle.ts';
import type { Logger } from '../../../core/logger.ts';
import { endsWithin } from '../../../core/wait.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import { exclusively, type Lease } from '../../../infra/postgres/exclusive.ts';
import type { SearchEntries } from './entries.ts';

const NAME = 'documents.search-entries';
const PAUSE_MS = 500;
/** A start waits this long: with few documents search is there with everything else. */
const START_WAIT_MS = 2000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export type Preparation = {
  job: Job;
  /** Throws 503 until every entry is there. */
  assertDone(): void;
};

export function createPreparation(deps: { sql: Sql; entries: SearchEntries; log: Logger }): Preparation {
  const { sql, entries, log } = deps;
  const stopping = new AbortController();
  let done = false;
  let running: Promise<void> = Promise.resolve();

  const rewriteAll = async (lock: Lease): Promise<void> => {
    if (await entries.current(sql)) return;
    log.info({}, 'preparing search: every document is read once');
    let last: string | undefined = FIRST_ID;
    while (last !== undefined) {
      if (stopping.signal.aborted) return;
      lock.assert();
      last = await entries.rewriteBatch(sql, last);
    }
    await entries.declareCurrent(sql);
    log.info({}, 'search is prepared');
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        done = await entries.current(sql);
        if (done) return;
        // Another process may be at it; then we look again.
        await exclusively(sql, NAME, rewriteAll);
        done = await entries.current(sql);
        if (done) return;
      } catch (error) {
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
    },
    assertDone() {
      if (!done) throw unavailable('Search is being prepared; documents are read for it');
    },
  };
}
