// Folds the changes of counts into counts and bitmaps. Until then both are added up, so that totals are exact at any
// time.

import type { Logger } from '../../../core/logger.ts';
import { isUnavailable, type Sql, type Transaction } from '../../../infra/postgres/client.ts';
import { type BitChange, COUNTS_LOCK, type CommonTerms, changeBitmaps } from './common-terms.ts';
import { EVERYBODY } from './statements.ts';

/** Changes that one pass takes. */
const PASS_MAX = 20_000;
/** Passes between two clean-ups of the table, which is small and churns. */
const PASSES_PER_VACUUM = 3;

/** One pass; one process at a time does it, the others pass by. */
export function createCountFolding(deps: { sql: Sql; common: CommonTerms; log: Logger }) {
  const { sql, common, log } = deps;
  let passes = 0;
  return async (signal: AbortSignal): Promise<void> => {
    try {
      let folded: number;
      do {
        folded = await sql.begin(fold);
        if (folded > 0 && ++passes % PASSES_PER_VACUUM === 0) await sql`VACUUM document_count_changes`;
      } while (folded === PASS_MAX && !signal.aborted);
      await common.update();
    } catch (error) {
      // Nothing is lost: each search adds up what is not folded yet.
      if (!isUnavailable(error)) throw error;
      log.debug({ err: error }, 'counts are folded later');
    }
  };
}

async function fold(tx: Transaction): Promise<number> {
  const [turn] = await tx<{ mine: boolean; some: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${COUNTS_LOCK}, 0)) AS mine,
      EXISTS (SELECT FROM document_count_changes) AS some`;
  if (turn?.mine !== true || !turn.some) return 0;
  const [outcome] = await tx<{ folded: number; bits: BitChange[] }[]>`
    WITH gone AS (
      DELETE FROM document_count_changes WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM document_count_changes LIMIT ${PASS_MAX})) RETURNING *),
    summed AS (
      SELECT workspace_id, class, subject, of.day, sum(documents) AS documents
      FROM gone, LATERAL (VALUES (owner_id, gone.day), (owner_id, '-infinity'), (${EVERYBODY}::uuid, gone.day),
        (${EVERYBODY}::uuid, '-infinity')) AS of (subject, day)
      GROUP BY 1, 2, 3, 4 HAVING sum(documents) <> 0),
    counted AS (
      INSERT INTO document_counts SELECT * FROM summed ORDER BY 1, 2, 3, 4
      ON CONFLICT (workspace_id, class, subject, day)
        DO UPDATE SET documents = document_counts.documents + excluded.documents),
    moved AS (
      SELECT term, class, day, number, sum(documents) AS documents
      FROM gone, unnest(terms) AS of (term) JOIN document_common_terms USING (term)
      GROUP BY 1, 2, 3, 4 HAVING sum(documents) <> 0),
    bits AS (
      SELECT term, class, day, number / 4096 AS chunk,
        array_agg((number % 4096)::int) FILTER (WHERE documents > 0) AS added,
        array_agg((number % 4096)::int) FILTER (WHERE documents < 0) AS removed
      FROM moved GROUP BY 1, 2, 3, 4)
    SELECT (SELECT count(*)::int FROM gone) AS folded,
      (SELECT coalesce(jsonb_agg(bits), '[]') FROM bits) AS bits`;
  if (outcome === undefined) return 0;
  await changeBitmaps(tx, outcome.bits);
  return outcome.folded;
}
