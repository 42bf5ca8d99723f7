// Passages by their words: BM25, computed by the database. For one word `ts_rank` is a function of its frequency f alone that
// saturates like f / (f + k) of BM25, and its C code reads the words of a passage in place. The rarity of the words and the length
// of the passage, which it lacks, are added to it here.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { union } from '../search/postgres/fragments.ts';
import { COMBINED_MAX, COUNTED_MAX, RANKED_MAX } from './limits.ts';
import type { Term } from './question.ts';

/** How much the length of a passage counts: the `b` of BM25. */
const LENGTH_WEIGHT = 0.75;

/** Shares of a question's weight. Passages with the greatest share are ranked first, as many as fit. */
const LEVELS = [0.8, 0.6, 0.4, 0.2];

/** What each half of a ranking has given: a share of the question, and a cosine. Null: this half was not asked, or did not find it. */
export type Halves = { words: number | null; vectors: number | null };

/** `halves`: absent of a ranking by words alone. */
export type RankedPassage = { passageId: string; score: number; halves?: Halves };

/** A question whose terms have the weights of BM25. */
export type Weighed = Awaited<ReturnType<typeof weigh>>;

/**
 * Weighs terms by their rarity in the first passages of these documents: those that the caller sees, so that no score says what stands
 * in others.
 */
export async function weigh(
  sql: Transaction,
  { workspaceId, terms, documents }: { workspaceId: string; terms: Term[]; documents: string[] },
) {
  const each = Math.ceil(COUNTED_MAX / Math.max(1, documents.length));
  const [counted] = await sql<{ passages: number; averageLength: number; counts: number[] }[]>`
    WITH seen AS MATERIALIZED (
      SELECT length, words FROM unnest(${documents}::uuid[]) AS d (id), LATERAL (
        SELECT length, words FROM document_passage_words WHERE document_id = d.id LIMIT ${each}) p)
    SELECT count(*)::float8 AS passages, coalesce(avg(length), 1)::float8 AS "averageLength", ARRAY (
      SELECT (SELECT count(*)::float8 FROM seen WHERE words @@ query::tsquery)
      FROM unnest(${terms.map(({ lexemes }) => anyOf(lexemes))}::text[]) WITH ORDINALITY AS t (query, number)
      ORDER BY number) AS counts
    FROM seen`;
  const { passages = 0, averageLength = 1, counts = [] } = counted ?? {};
  const weights = new Map(
    terms.map((term, at) => {
      const having = counts[at] ?? 0;
      return [term, term.weight * Math.log1p((passages - having + 0.5) / (having + 0.5))];
    }),
  );
  return { workspaceId, averageLength, weights };
}

/**
 * The rows of `document_passage_words` that are ranked: first those that have most of the question's weight, then those with less, until
 * there are enough; `among` is a condition on `document_id`. Each level is a condition for the index, which reads long lists of common words only where short ones have a
 * passage (the idea of WAND), and is evaluated only where the levels before have not sufficed.
 */
export function candidatesOf(
  sql: Transaction,
  { workspaceId, weights }: Weighed,
  { limit, among }: { limit: number; among: Fragment },
): Fragment {
  const mains = [...weights.keys()].filter((term) => term.of === undefined);
  const heaviest = mains
    .map((term) => ({
      term,
      weight: [...weights].reduce(
        (sum, [{ of }, each]) => (of === term ? sum + each : sum),
        weights.get(term) ?? 0,
      ),
    }))
    .sort((left, right) => right.weight - left.weight)
    .slice(0, COMBINED_MAX);
  const total = sumOf(heaviest);
  const levels = [
    ...LEVELS.map((share) => toQuery(heaviest, share * total)),
    anyOf(mains.flatMap(({ lexemes }) => lexemes)),
  ].filter((level, at, all) => level !== '' && all.indexOf(level) === at);
  const parts = levels.map((level, at) => {
    const before = at === 0 ? sql`` : sql`AND NOT words @@ ${levels[at - 1] ?? ''}::tsquery`;
    return sql`(SELECT passage_id, length, words FROM document_passage_words
      WHERE workspace_id = ${workspaceId} AND words @@ ${level}::tsquery ${before} AND ${among})`;
  });
  return sql`SELECT * FROM (${union(sql, parts)}) found LIMIT ${Math.max(RANKED_MAX, 4 * limit)}`;
}

/** Candidates that are known already. */
export const candidatesAt = (
  sql: Transaction,
  { workspaceId }: Weighed,
  ids: readonly string[],
): Fragment => sql`
  SELECT passage_id, length, words FROM document_passage_words
  WHERE workspace_id = ${workspaceId} AND passage_id = ANY (${ids as string[]}::bigint[])`;

/**
 * The best of the candidates. A score is the share of the question that a passage has: of its words, weighted by their rarity and by how
 * often the passage has them.
 */
export async function rank(
  sql: Transaction,
  { weights, averageLength }: Weighed,
  candidates: Fragment,
  limit: number,
): Promise<RankedPassage[]> {
  const terms = [...weights.keys()];
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return sql<RankedPassage[]>`
    WITH candidate AS MATERIALIZED (${candidates}),
    term AS MATERIALIZED (
      SELECT query::tsquery AS query, forms, weight FROM unnest(${terms.map(({ lexemes }) => anyOf(lexemes))}::text[],
        ${terms.map(({ lexemes }) => lexemes.length)}::float8[], ${[...weights.values()]}::float8[]) AS t (query, forms, weight))
    SELECT passage_id::text AS "passageId", score FROM (
      SELECT passage_id, (
        SELECT sum(weight / (1 + (1 / greatest(1e-9, least(0.995, forms * ts_rank('{1,1,1,1}'::real[], words, query))) - 1) * longer))
        FROM term) / ${total}::float8 AS score
      FROM (SELECT *, 1 - ${LENGTH_WEIGHT}::float8 + ${LENGTH_WEIGHT}::float8 * length / ${averageLength}::float8 AS longer
        FROM candidate) measured) scored
    ORDER BY score DESC, passage_id LIMIT ${limit}`;
}

type Heavy = { term: Term; weight: number };

const sumOf = (heavy: readonly Heavy[]): number => heavy.reduce((sum, { weight }) => sum + weight, 0);

/** Sums of floating-point numbers in another order differ a little. */
const ROUNDING = 1e-9;

/** The tsquery of passages whose words have weights that come to `needed`; '' where the words cannot come to it. */
function toQuery(words: readonly Heavy[], needed: number): string {
  const [word, ...others] = words;
  if (word === undefined || sumOf(words) < needed - ROUNDING) return '';
  const own = anyOf(word.term.lexemes);
  const rest = needed - word.weight;
  const more = rest <= ROUNDING ? '' : toQuery(others, rest);
  const having = more === '' ? own : `(${own} & ${more})`;
  const without = toQuery(others, needed);
  return without === '' ? having : `(${having} | ${without})`;
}

/** The tsquery of passages that have one of the lexemes. */
const anyOf = (lexemes: readonly string[]): string => {
  const quoted = lexemes.map((lexeme) => `'${lexeme}'`);
  return quoted.length > 1 ? `(${quoted.join(' | ')})` : quoted.join('');
};
