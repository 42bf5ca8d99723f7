// What an operator does to search by hand, while the service runs or while it does not.

import type { Logger } from '../../core/logger.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createMirror, type MirrorSettings } from './meilisearch/mirror.ts';
import { createSearchEntries } from './postgres/entries.ts';
import { verifyEntries } from './postgres/verify.ts';

export type MaintenanceOutcome = {
  report: Record<string, unknown>;
  /** What is wrong, in one sentence; undefined when all is well. */
  drift?: string;
};

export type SearchMaintenance = {
  /** Makes anew what searches are answered from: the search server's index, or Postgres' own entries without one. */
  reindex(): Promise<MaintenanceOutcome>;
  /** Compares it with the documents; with `repair`, what differs is made anew. */
  verify(options: { repair: boolean }): Promise<MaintenanceOutcome>;
};

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const PROGRESS_INTERVAL_MS = 2_000;

/** With a search server its index is meant too; the process that writes to it does the work, or this one where there is none. */
export function createSearchMaintenance(deps: {
  sql: Sql;
  meilisearch: MirrorSettings | undefined;
  log: Logger;
  progress(sentence: string): void;
}): SearchMaintenance {
  const { sql, meilisearch, log } = deps;
  const entries = createSearchEntries();
  const progress = createProgress(deps.progress);

  const rewriteEntries = async (): Promise<number> => {
    const [row] = await sql<{ documents: number }[]>`SELECT count(*)::int AS documents FROM documents`;
    const documents = row?.documents ?? 0;
    let last: string | undefined = FIRST_ID;
    while (last !== undefined) {
      last = await entries.rewriteBatch(sql, last);
      if (last !== undefined) progress(`writing entries anew, of ${documents} documents up to ${last}`);
    }
    await entries.declareCurrent(sql);
    return documents;
  };

  return {
    async reindex() {
      if (meilisearch === undefined) return { report: { entries_written: await rewriteEntries() } };
      const mirror = createMirror({ sql, settings: meilisearch, log });
      const [writer] = mirror.jobs;
      await writer?.start();
      try {
        await mirror.reindex((copied, documents) => progress(`copied ${copied} of ${documents} documents`));
        return { report: { index: 'made anew', ...(await mirror.state()) } };
      } finally {
        await writer?.stop();
      }
    },

    async verify({ repair }) {
      const postgres = await verifyEntries(sql, entries, repair);
      const mirror =
        meilisearch === undefined ? undefined : createMirror({ sql, settings: meilisearch, log });
      const index = await mirror?.verify(repair);
      const report = { postgres, ...(index === undefined ? {} : { index }) };
      const drifts = [postgres, ...(index === undefined ? [] : [index])];
      const sound =
        postgres.counts === 'right' &&
        drifts.every(({ missing, different, extra }) => missing + different + extra === 0);
      if (sound) return { report };
      const remedy = repair ? 'it has been repaired' : 'run it again with --repair';
      return { report, drift: `search differs from the documents; ${remedy}` };
    },
  };
}

/** Not more often than a person reads. */
function createProgress(tell: (sentence: string) => void): (sentence: string) => void {
  let toldAt = performance.now();
  return (sentence) => {
    if (performance.now() - toldAt < PROGRESS_INTERVAL_MS) return;
    toldAt = performance.now();
    tell(sentence);
  };
}
