// The samples that `shares.ts` weighs by: of what is public in a large workspace, and of what each owner keeps private.

import type { Sql } from '../../infra/postgres/client.ts';
import { COMMON_IN_SAMPLE_MIN, SCOPE_SAMPLE_MIN } from './limits.ts';

/** The scope of public documents; that of the private ones of an owner is the owner's id. */
export const PUBLIC = '';

/** Takes the shares of a workspace from a sample of its passages, given by their ids. */
export const takeShares = (
  sql: Sql,
  { workspaceId, passages, sample }: { workspaceId: string; passages: number; sample: readonly string[] },
): Promise<unknown> =>
  sql.begin(async (tx) => {
    await tx`DELETE FROM document_word_shares WHERE workspace_id = ${workspaceId}`;
    await tx`
      INSERT INTO document_word_shares (workspace_id, scope, passages, average_length, words, shares)
      SELECT ${workspaceId}, scope, sampled * ${passages}::float8 / ${sample.length}, average_length, coalesce(words, '{}'),
        coalesce(shares, '{}')
      FROM (
        SELECT CASE WHEN d.status = 'public' THEN ${PUBLIC} ELSE d.owner_id::text END AS scope, count(*) AS sampled,
          avg(w.length) AS average_length, string_agg(w.passage_id::text, ',') AS ids
        FROM document_passage_words w JOIN documents d ON d.id = w.document_id
        WHERE w.passage_id = ANY (${sample as string[]}::bigint[]) AND d.deleted_at IS NULL
        GROUP BY 1 HAVING count(*) >= ${SCOPE_SAMPLE_MIN}) scopes,
      LATERAL (
        SELECT array_agg(word) AS words, array_agg((ndoc::float8 / sampled)::real) AS shares
        FROM ts_stat('SELECT words FROM document_passage_words WHERE passage_id IN (' || ids || ')')
        WHERE ndoc >= ${COMMON_IN_SAMPLE_MIN}) counted`;
  });
