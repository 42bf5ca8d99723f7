// Brings the search rows of all documents into the form of this version: at the first start with search, and again whenever the form
// changes. Until that is done a search could miss documents, so none is answered.

import { unavailable } from '../../core/errors.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic } from '../../core/periodic.ts';
import { endsWithin } from '../../core/wait.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { exclusively } from '../../infra/postgres/exclusive.ts';
import { areEntriesCurrent, rewriteEntries } from './entries.ts';

const NAME = 'documents.search-entries';
const INTERVAL_MS = 60_000;
/** A start waits this long: with few documents search is there with everything else. */
const START_WAIT_MS = 2000;

export function createPreparation({ sql, log }: { sql: Sql; log: Logger }) {
  let isDone = false;
  const periodic = createPeriodic({
    name: NAME,
    intervalMs: INTERVAL_MS,
    async run(signal) {
      if (isDone || (await areEntriesCurrent(sql))) {
        isDone = true;
        return undefined;
      }
      // Another process may be at it.
      await exclusively(sql, NAME, async (lease) => {
        if (await areEntriesCurrent(sql)) return;
        log.info({}, 'preparing search: every document is read once');
        await rewriteEntries(sql, () => {
          signal.throwIfAborted();
          lease.assert();
        });
        log.info({}, 'search is prepared');
      });
      isDone = await areEntriesCurrent(sql);
      return isDone ? undefined : 'again';
    },
    log,
  });
  const job: Job = {
    ...periodic,
    start: async () => void (await endsWithin(periodic.settle?.() ?? Promise.resolve(), START_WAIT_MS)),
  };
  return {
    job,
    /** Throws 503 until every row is there. */
    assertDone(): void {
      if (!isDone) throw unavailable('Search is being prepared; documents are read for it');
    },
  };
}
