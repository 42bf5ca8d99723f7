// What an operator does to search by hand, while the service runs or while it does not.

import type { Logger } from '../../core/logger.ts';
import { createProgress } from '../../core/progress.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { rewriteEntries } from './entries.ts';
import { createMirror, type MirrorSettings } from './meilisearch/mirror.ts';
import { verifyEntries } from './verify.ts';

type Outcome = {
  report: Record<string, unknown>;
  /** What is wrong, in one sentence; undefined when all is well. */
  drift?: string;
};

const PROGRESS_INTERVAL_MS = 2_000;

/** With a search server its index is meant too; the process that writes to it does the work, this one if there is no other. */
export function createSearchMaintenance(deps: {
  sql: Sql;
  meilisearch: MirrorSettings | undefined;
  log: Logger;
  progress(sentence: string): void;
}) {
  const { sql, meilisearch, log } = deps;
  const { step } = createProgress(deps.progress, PROGRESS_INTERVAL_MS);
  const mirror = meilisearch && createMirror({ sql, settings: meilisearch, log });

  return {
    /** Makes anew what searches are answered from: the search server's index, or Postgres' own entries without one. */
    async reindex(): Promise<Outcome> {
      if (mirror === undefined) {
        const [row] = await sql<{ documents: number }[]>`SELECT count(*)::int AS documents FROM documents`;
        const documents = row?.documents ?? 0;
        await rewriteEntries(sql, (last) =>
          step(() => `writing entries anew, of ${documents} documents up to ${last}`),
        );
        return { report: { entries_written: documents } };
      }
      const [writer] = mirror.jobs;
      await writer?.start();
      try {
        await mirror.reindex((sentence) => step(() => sentence));
        return { report: { index: 'made anew', ...(await mirror.state()) } };
      } finally {
        await writer?.stop();
      }
    },

    /** Compares it with the documents; with `repair`, what differs is made anew. */
    async verify({ repair }: { repair: boolean }): Promise<Outcome> {
      const postgres = await verifyEntries(sql, repair);
      const index = await mirror?.verify(repair);
      const report = { postgres, ...(index === undefined ? {} : { index }) };
      const drifts = [postgres, ...(index === undefined ? [] : [index])];
      const sound = drifts.every(({ missing, different, extra }) => missing + different + extra === 0);
      if (sound) return { report };
      const remedy = repair ? 'it has been repaired' : 'run it again with --repair';
      return { report, drift: `search differs from the documents; ${remedy}` };
    },
  };
}
