// Passages by their words: BM25, computed by the database. For one word `ts_rank` is a function of its frequency f alone that
// saturates like f / (f + k) of BM25, and its C code reads the words of a passage in place. What it lacks, the rarity of
// the words and the length of the passage, is put around it here.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { all, list, union } from '../search/postgres/fragments.ts';
import { RANKED_MAX } from './limits.ts';
import { byRarity, type Question, type Term } from './question.ts';

export type RankedPassage = { passageId: string; score: number };

export type RankOptions = {
  limit: number;
  /** Only passages of these documents. */
  documents: readonly string[] | undefined;
};

/** How much the length of a passage counts: the `b` of BM25. */
const LENGTH_WEIGHT = 0.75;
/** Of a share that no sample knows. */
const RARE_SHARE = 0.001;
/** Pairs of common words that are looked for where the rare ones find too little. */
const PAIRED_MAX = 4;

export function createRankByWords(sql: Transaction) {
  /**
   * The passages with the highest ranks, best first; `more` says whether a larger limit could find others. A score is the share
   * of the question that a passage has: of its words, weighted by their rarity and by how often the passage has them.
   *
   * Ranked are the passages that have one of the rarest words, of common words those that have two, and, where these are too
   * few, all with any.
   */
  return async (
    question: Question,
    { limit, documents }: RankOptions,
  ): Promise<{ found: RankedPassage[]; more: boolean }> => {
    const terms = question.terms.filter(({ written }) => !written);
    if (terms.length === 0) return { found: [], more: false };
    const budget = Math.max(RANKED_MAX, 4 * limit);
    const [rare, common] = splitByRarity(question, terms, budget);
    const rank = (...matches: string[]) =>
      rankPassages(sql, question, { matches, uncounted: common, budget, limit, documents });
    let ranked = await rank(anyOf(rare));
    if (common.length > 0 && !isConclusive(question, common, ranked, limit)) {
      const pairs = pairsOf(common.slice(0, PAIRED_MAX));
      if (pairs !== '') ranked = await rank(anyOf(rare), pairs);
      if (ranked.found.length < limit) ranked = await rank(anyOf(rare), anyOf(common));
    }
    const { found, passages } = ranked;
    return { found, more: found.length >= limit || passages >= budget || common.length > 0 };
  };
}

const anyOf = (terms: readonly Term[]): string =>
  terms.flatMap(({ lexemes }) => lexemes.map((lexeme) => `'${lexeme}'`)).join(' | ');

const pairsOf = (terms: readonly Term[]): string =>
  terms
    .flatMap((left, index) =>
      terms.slice(index + 1).map((right) => `((${anyOf([left])}) & (${anyOf([right])}))`),
    )
    .join(' | ');

/** The rarest terms that together few enough passages have, at least one; and the others. */
function splitByRarity({ statistics }: Question, terms: readonly Term[], budget: number): [Term[], Term[]] {
  const sorted = [...terms].sort(byRarity);
  let passages = 0;
  const count = sorted.findIndex(({ share = RARE_SHARE }) => {
    passages += share * statistics.passages;
    return passages > budget;
  });
  const taken = count === -1 ? sorted.length : Math.max(1, count);
  return [sorted.slice(0, taken), sorted.slice(taken)];
}

/** Whether a passage with the common words alone could not be among the found. */
function isConclusive(
  question: Question,
  common: readonly Term[],
  { found }: { found: readonly RankedPassage[] },
  limit: number,
): boolean {
  const last = found[limit - 1];
  if (last === undefined) return false;
  const idf = (term: Term) => term.weight * Math.log1p(1 / (term.share ?? RARE_SHARE));
  const sum = (terms: readonly Term[]) => terms.reduce((total, term) => total + idf(term), 0);
  return last.score >= sum(common) / Math.max(1e-9, sum(question.terms));
}

type Ranked = { found: RankedPassage[]; passages: number };

async function rankPassages(
  sql: Transaction,
  { workspaceId, terms, statistics }: Question,
  options: RankOptions & { matches: readonly string[]; uncounted: readonly Term[]; budget: number },
): Promise<Ranked> {
  const { matches, uncounted, budget, limit, documents } = options;
  const average = Math.max(1, statistics.averageLength);
  const name = (letter: string, index: number): Fragment => sql`${sql(`${letter}${index}`)}`;
  const ranks = terms.map(
    (term, index) => sql`least(0.995, ${term.lexemes.length}::float8
      * ts_rank('{1,1,1,1}'::real[], words, ${anyOf([term])}::tsquery)) AS ${name('r', index)}`,
  );
  const counts = terms.map((term, index) => sql`(${countOf(index, term)})::float8 AS ${name('n', index)}`);
  const weights = terms.map(
    ({ weight }, index) => sql`${weight}::float8
      * ln(1 + (greatest(${statistics.passages}::float8, ${name('n', index)}) - ${name('n', index)} + 0.5)
        / (${name('n', index)} + 0.5)) AS ${name('w', index)}`,
  );
  const sum = (parts: Fragment[]): Fragment => parts.reduce((left, right) => sql`${left} + ${right}`);
  const score = sum(
    terms.map((_, index) => {
      const [rank, weight] = [name('r', index), name('w', index)];
      return sql`${weight} * ${rank} / (${rank} + (1 - ${rank}) * longer)`;
    }),
  );
  // What matches earlier is not to be crowded out by what matches later.
  const candidates = matches.map((match, index) => {
    const earlier = matches.slice(0, index).join(' | ');
    const tests = [
      sql`workspace_id = ${workspaceId}`,
      sql`words @@ ${match}::tsquery`,
      ...(earlier === '' ? [] : [sql`NOT words @@ ${earlier}::tsquery`]),
      ...(documents === undefined ? [] : [sql`document_id = ANY (${documents as string[]}::uuid[])`]),
    ];
    return sql`(SELECT passage_id, length, words FROM document_passage_words WHERE ${all(sql, tests)} LIMIT ${budget})`;
  });
  const rows = await sql<{ id: string; score: number; passages: number }[]>`
    WITH candidate AS MATERIALIZED (
      SELECT passage_id, (1 - ${LENGTH_WEIGHT}::float8 + ${LENGTH_WEIGHT}::float8 * length / ${average}::float8) AS longer,
        ${list(sql, ranks)}
      FROM (${union(sql, candidates)}) found),
    counted AS (SELECT count(*) AS candidates, ${list(sql, counts)} FROM candidate),
    weighed AS (SELECT ${list(sql, weights)} FROM counted)
    SELECT passage_id::text AS id, ((${score}) / (${sum(terms.map((_, index) => name('w', index)))}))::float8 AS score,
      count(*) OVER ()::int AS passages
    FROM candidate, weighed ORDER BY 2 DESC, passage_id LIMIT ${limit}`;
  return {
    found: rows.map(({ id, score }) => ({ passageId: id, score })),
    passages: rows[0]?.passages ?? 0,
  };

  /** How many passages have a term: from the sample, or those that were found by it. */
  function countOf(index: number, term: Term): Fragment {
    const share = term.share ?? (uncounted.includes(term) ? RARE_SHARE : undefined);
    if (share !== undefined) return sql`${share * statistics.passages}::float8`;
    if (documents === undefined) return sql`count(*) FILTER (WHERE ${name('r', index)} > 0)`;
    return sql`(SELECT count(*) FROM document_passage_words
      WHERE workspace_id = ${workspaceId} AND words @@ ${anyOf([term])}::tsquery)`;
  }
}
