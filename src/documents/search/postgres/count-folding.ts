// Folds the changes of counts into the counts. Until then both are added up, so that totals are exact at any time.

import type { Logger } from '../../../core/logger.ts';
import { isUnavailable, type Sql } from '../../../infra/postgres/client.ts';
import { EVERYBODY } from './statements.ts';

/** Folds between two clean-ups of the table, which is small and churns. */
const FOLDS_PER_VACUUM = 10;

/** One pass; one process at a time does it, the others pass by. */
export function createCountFolding(sql: Sql, log: Logger) {
  let folds = 0;
  return async (): Promise<void> => {
    try {
      const [row] = await sql<{ folded: number }[]>`
        WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtextextended('documents.counts', 0)) AS mine),
        gone AS (DELETE FROM document_count_changes WHERE (SELECT mine FROM turn) RETURNING *),
        summed AS (
          SELECT workspace_id, class, subject, day, sum(documents) AS documents
          FROM gone, LATERAL (VALUES (owner_id), (${EVERYBODY}::uuid)) AS of (subject)
          GROUP BY 1, 2, 3, 4 HAVING sum(documents) <> 0),
        folded AS (
          INSERT INTO document_counts SELECT * FROM summed
          ON CONFLICT (workspace_id, class, subject, day)
            DO UPDATE SET documents = document_counts.documents + excluded.documents)
        SELECT count(*)::int AS folded FROM gone`;
      if (row === undefined || row.folded === 0) return;
      folds += 1;
      if (folds % FOLDS_PER_VACUUM === 0) await sql`VACUUM document_count_changes`;
    } catch (error) {
      // Nothing is lost: what is not folded is added up by whoever asks.
      if (!isUnavailable(error)) throw error;
      log.debug({ err: error }, 'counts are folded later');
    }
  };
}
