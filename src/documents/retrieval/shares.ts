// The shares of words in what a caller of a large workspace sees: in its public passages, and in those of their own documents. So
// the weights of words say nothing of passages that others keep private.

import { LRUCache } from 'lru-cache';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { COMMON_KEPT_MAX, COUNTED_MAX, RARE_SHARE, STATISTICS_INTERVAL_MS } from './limits.ts';
import type { Question, Term } from './question.ts';
import { PUBLIC } from './take-shares.ts';

type Shares = { passages: number; averageLength: number; shares: ReadonlyMap<string, number> };

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
