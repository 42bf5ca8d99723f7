// The shares of words in what a caller of a large workspace sees: in its public passages, and in those of their own documents. So
// the weights of words say nothing of passages that others keep private.

import { LRUCache } from 'lru-cache';
import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import {
  COMMON_IN_SAMPLE_MIN,
  COMMON_KEPT_MAX,
  COUNTED_MAX,
  RARE_SHARE,
  SCOPE_SAMPLE_MIN,
  STATISTICS_INTERVAL_MS,
} from './limits.ts';
import type { Question, Term } from './question.ts';

type Shares = { passages: number; averageLength: number; shares: ReadonlyMap<string, number> };

/** The scope of public documents; that of the private ones of an owner is the owner's id. */
const PUBLIC = '';

/** Weighs a question by the last sample of public documents and of the viewer's own. */
export function createWeighBySample() {
  const kept = new LRUCache<string, readonly Shares[]>({
    maxSize: COMMON_KEPT_MAX,
    sizeCalculation: (scopes) => 1 + scopes.reduce((sum, { shares }) => sum + shares.size, 0),
    ttl: STATISTICS_INTERVAL_MS,
  });

  const read = async (sql: Transaction, { workspaceId, userId }: Viewer): Promise<readonly Shares[]> => {
    const key = `${workspaceId} ${userId}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const rows = await sql<{ passages: number; averageLength: number; words: string[]; shares: number[] }[]>`
      SELECT passages, average_length AS "averageLength", words, shares FROM document_word_shares
      WHERE workspace_id = ${workspaceId} AND scope IN (${PUBLIC}, ${userId})`;
    const found = rows.map(({ words, shares, ...figures }) => ({
      ...figures,
      shares: new Map(words.map((word, at) => [word, shares[at] ?? 0])),
    }));
    kept.set(key, found);
    return found;
  };

  return async (sql: Transaction, question: Question, viewer: Viewer): Promise<Question> => {
    const scopes = await read(sql, viewer);
    const sumOf = (of: (scope: Shares) => number): number => scopes.reduce((sum, each) => sum + of(each), 0);
    // Without a sample all words weigh the same.
    const passages = sumOf((scope) => scope.passages) || COUNTED_MAX;
    const seenOf = ({ lexemes }: Term): number => {
      const found = sumOf(
        (scope) => scope.passages * sum(lexemes.map((each) => scope.shares.get(each) ?? 0)),
      );
      return Math.min(passages, found || RARE_SHARE * passages);
    };
    return {
      ...question,
      seen: { passages, averageLength: sumOf((scope) => scope.passages * scope.averageLength) / passages },
      terms: question.terms.map((term) => ({ ...term, seen: seenOf(term) })),
    };
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

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
