// Passages by their words: BM25, computed by the database. For one word `ts_rank` is a function of its frequency f alone that
// saturates like f / (f + k) of BM25, and its C code reads the words of a passage in place. The rarity of the
// words and the length of the passage, which it lacks, are added to it here.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { all, list, union } from '../search/postgres/fragments.ts';
import { RANKED_MAX } from './limits.ts';
import { byRarity, type Question, type Term } from './question.ts';

/** What each half of a ranking has given: a share of the question, and a cosine. Null: this half was not asked, or did not find it. */
export type Halves = { words: number | null; vectors: number | null };

/** `halves`: absent of a ranking by words alone. */
export type RankedPassage = { passageId: string; score: number; halves?: Halves };

export type RankOptions = {
  limit: number;
  /** The first passages of the result, so many, have the highest ranks of all; behind them some may be missing. */
  exact: number;
  /** A condition on `document_id`: only passages of such documents. */
  among: Fragment | undefined;
};

/** How much the length of a passage counts: the `b` of BM25. */
const LENGTH_WEIGHT = 0.75;
/** The share of passages that a common word is assumed to have where no sample counts it. */
const RARE_SHARE = 0.001;
/** Pairs of common words that are looked for where the rare ones find too little. */
const PAIRED_MAX = 4;

export type RankedByWords = {
  found: RankedPassage[];
  /** How many passages have each term of the question; empty where nothing was looked for. */
  counts: number[];
  /** Whether a larger limit could find others. */
  more: boolean;
};

export type WordRanking = ReturnType<typeof createWordRanking>;

export function createWordRanking(sql: Transaction) {
  /**
   * The passages with the highest ranks, best first; `more` says whether a larger limit could find others. A score is the share
   * of the question that a passage has: of its words, weighted by their rarity and by how often the passage has them.
   *
   * Ranked are the passages that have one of the rarest words, of common words those that have two, and, where these are too
   * few, all with any.
   */
  const rank = async (question: Question, { limit, exact, among }: RankOptions): Promise<RankedByWords> => {
    const terms = question.terms.filter(({ written }) => !written);
    if (terms.length === 0) return { found: [], counts: [], more: false };
    const budget = Math.max(RANKED_MAX, 4 * limit);
    const [rare, common] = splitByRarity(question, terms, budget);
    const rankMatching = (...matches: string[]) =>
      rankPassages(sql, question, { matches, uncounted: common, budget, limit, among });
    let ranked = await rankMatching(anyOf(rare));
    if (common.length > 0 && !isConclusive(question, common, ranked, exact)) {
      const pairs = pairsOf(common.slice(0, PAIRED_MAX));
      if (pairs !== '') ranked = await rankMatching(anyOf(rare), pairs);
      if (ranked.found.length < exact) ranked = await rankMatching(anyOf(rare), anyOf(common));
    }
    const { found, counts, passages } = ranked;
    const skipped = common.length > 0 && found.length >= exact;
    return { found, counts, more: found.length >= limit || passages >= budget || skipped };
  };

  /** The scores of these passages, as a ranking gives them that counted so; those without a word of the question are left out. */
  const score = async (
    { workspaceId, terms, statistics }: Question,
    counts: readonly number[],
    passageIds: readonly string[],
  ): Promise<RankedPassage[]> => {
    if (passageIds.length === 0 || counts.length === 0) return [];
    const parts = scoreParts(sql, terms, statistics);
    return sql<RankedPassage[]>`
      SELECT passage_id::text AS "passageId", score FROM (
        SELECT passage_id, ${parts.score} AS score FROM (
          SELECT passage_id, ${parts.ranks} FROM document_passage_words
          WHERE workspace_id = ${workspaceId} AND passage_id = ANY (${passageIds as string[]}::bigint[])) candidate,
        (SELECT ${parts.weights} FROM (SELECT ${list(
          sql,
          counts.map((count, index) => sql`${count}::float8 AS ${column(sql, 'n', index)}`),
        )}) counted) weighed) scored WHERE score > 0`;
  };

  return { rank, score };
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
  exact: number,
): boolean {
  const last = found[exact - 1];
  if (last === undefined) return false;
  const idf = (term: Term) => term.weight * Math.log1p(1 / (term.share ?? RARE_SHARE));
  const sum = (terms: readonly Term[]) => terms.reduce((total, term) => total + idf(term), 0);
  return last.score >= sum(common) / Math.max(1e-9, sum(question.terms));
}

type Ranked = Omit<RankedByWords, 'more'> & { passages: number };

type Matching = Omit<RankOptions, 'exact'> & {
  matches: readonly string[];
  uncounted: readonly Term[];
  budget: number;
};

async function rankPassages(sql: Transaction, question: Question, options: Matching): Promise<Ranked> {
  const { workspaceId, terms, statistics } = question;
  const { budget, limit } = options;
  const counts = terms.map(
    (term, index) =>
      sql`(${countOf(sql, question, { ...options, term, index })})::float8 AS ${column(sql, 'n', index)}`,
  );
  const parts = scoreParts(sql, terms, statistics);
  // What matches earlier is not to be crowded out by what matches later.
  const candidates = options.matches.map((match, index) => {
    const earlier = options.matches.slice(0, index).join(' | ');
    const tests = [
      sql`workspace_id = ${workspaceId}`,
      sql`words @@ ${match}::tsquery`,
      ...(earlier === '' ? [] : [sql`NOT words @@ ${earlier}::tsquery`]),
      ...(options.among === undefined ? [] : [options.among]),
    ];
    return sql`(SELECT passage_id, length, words FROM document_passage_words WHERE ${all(sql, tests)} LIMIT ${budget})`;
  });
  const counted = terms.map((_, index) => column(sql, 'n', index));
  const rows = await sql<{ id: string; score: number; counts: number[]; passages: number }[]>`
    WITH candidate AS MATERIALIZED (SELECT passage_id, ${parts.ranks} FROM (${union(sql, candidates)}) found),
    counted AS (SELECT count(*) AS candidates, ${list(sql, counts)} FROM candidate),
    weighed AS (SELECT ARRAY[${list(sql, counted)}] AS counts, ${parts.weights} FROM counted)
    SELECT passage_id::text AS id, ${parts.score} AS score, counts, count(*) OVER ()::int AS passages
    FROM candidate, weighed ORDER BY 2 DESC, passage_id LIMIT ${limit}`;
  return {
    found: rows.map(({ id, score }) => ({ passageId: id, score })),
    counts: rows[0]?.counts ?? [],
    passages: rows[0]?.passages ?? 0,
  };
}

const column = (sql: Transaction, letter: string, index: number): Fragment =>
  sql`${sql(`${letter}${index}`)}`;

/**
 * The parts of the rank of rows of `document_passage_words`: of each term `i` its saturated frequency `ri`, and its weight `wi`,
 * made of `ni`, the number of passages that have it.
 */
function scoreParts(
  sql: Transaction,
  terms: readonly Term[],
  { passages, averageLength }: Question['statistics'],
): { ranks: Fragment; weights: Fragment; score: Fragment } {
  const ranks = terms.map(
    (term, index) => sql`least(0.995, ${term.lexemes.length}::float8
      * ts_rank('{1,1,1,1}'::real[], words, ${anyOf([term])}::tsquery)) AS ${column(sql, 'r', index)}`,
  );
  const weights = terms.map(({ weight }, index) => {
    const count = column(sql, 'n', index);
    return sql`${weight}::float8
      * ln(1 + (greatest(${passages}::float8, ${count}) - ${count} + 0.5) / (${count} + 0.5)) AS ${column(sql, 'w', index)}`;
  });
  const sum = (parts: Fragment[]): Fragment => parts.reduce((left, right) => sql`${left} + ${right}`);
  const score = terms.map((_, index) => {
    const [rank, weight] = [column(sql, 'r', index), column(sql, 'w', index)];
    return sql`${weight} * ${rank} / (${rank} + (1 - ${rank}) * longer)`;
  });
  const total = terms.map((_, index) => column(sql, 'w', index));
  return {
    ranks: sql`(1 - ${LENGTH_WEIGHT}::float8
      + ${LENGTH_WEIGHT}::float8 * length / ${Math.max(1, averageLength)}::float8) AS longer, ${list(sql, ranks)}`,
    weights: list(sql, weights),
    score: sql`((${sum(score)}) / (${sum(total)}))::float8`,
  };
}

/** How many passages have a term: by the sample, or of those that were found by it. */
function countOf(
  sql: Transaction,
  { workspaceId, statistics }: Question,
  { term, index, uncounted, among }: Matching & { term: Term; index: number },
): Fragment {
  const share = term.share ?? (uncounted.includes(term) ? RARE_SHARE : undefined);
  if (share !== undefined) return sql`${share * statistics.passages}::float8`;
  if (among === undefined) return sql`count(*) FILTER (WHERE ${column(sql, 'r', index)} > 0)`;
  return sql`(SELECT count(*) FROM document_passage_words
    WHERE workspace_id = ${workspaceId} AND words @@ ${anyOf([term])}::tsquery)`;
}
