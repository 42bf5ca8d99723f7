// Passages by their words: BM25, computed by the database. For one word `ts_rank` is a function of its frequency f alone that
// saturates like f / (f + k) of BM25, and its C code reads the words of a passage in place. The rarity of the
// words and the length of the passage, which it lacks, are added to it here.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { all, list, union } from '../search/postgres/fragments.ts';
import {
  COMMON_RANKED,
  COMMON_RANKED_MAX,
  LIKELY_SHARE,
  RANKED_MAX,
  RARE_SHARE,
  WEIGHED_MAX,
} from './limits.ts';
import { byRarity, keyOf, type Question, type Term } from './question.ts';
import { anyOf, type CommonWord, createThresholds } from './thresholds.ts';

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
   * Ranked are the passages that have a rare word, and those that have many of the common ones; where another combination of common
   * words could rank as high as what was found, those with that, too, as far as they are not too many.
   */
  const rank = async (question: Question, { limit, exact, among }: RankOptions): Promise<RankedByWords> => {
    const { passages } = question.statistics;
    const budget = Math.max(RANKED_MAX, 4 * limit);
    const [rare, common] = splitByRarity(question, budget);
    if (rare.length === 0 && common.length === 0) return { found: [], counts: [], more: false };
    const thresholds = createThresholds(common.map((term) => toCommonWord(question, term)));
    const rankAt = (level: number) => {
      const matches = [anyOf(rare), thresholds.matching(level)].filter((match) => match !== '');
      return rankPassages(sql, question, { matches, uncounted: common, budget, limit, among });
    };
    let level = thresholds.levelOf(passages, Math.max(COMMON_RANKED, 2 * limit));
    let ranked = await rankAt(level);
    const reached = (ranked.found[exact - 1]?.score ?? 0) * ranked.total - thresholds.rest;
    if (reached < LIKELY_SHARE * level) {
      const least = thresholds.levelOf(passages, Math.max(COMMON_RANKED_MAX, 20 * limit));
      level = Math.min(level, Math.max(reached / LIKELY_SHARE, least));
      ranked = await rankAt(level);
    }
    if (level > 0 && ranked.found.length < exact) {
      level = 0;
      ranked = await rankAt(level);
    }
    const { found, counts } = ranked;
    return { found, counts, more: found.length >= limit || ranked.passages >= budget || level > 0 };
  };

  /**
   * The question, weighed by those passages that `condition` on a `document_id` lets pass: as many of them as one statement counts.
   * So no score says what stands in passages that the caller does not see.
   */
  const weigh = async (question: Question, condition: Fragment): Promise<Question> => {
    const { workspaceId, terms } = question;
    const counts = terms.map((term) => sql`count(*) FILTER (WHERE words @@ ${anyOf([term])}::tsquery)`);
    const [row] = await sql<{ passages: number; averageLength: number; counts: number[] }[]>`
      SELECT count(*)::float8 AS passages, coalesce(avg(length), 0)::float8 AS "averageLength",
        ARRAY[${list(sql, counts)}]::float8[] AS counts
      FROM (SELECT length, words FROM document_passage_words WHERE workspace_id = ${workspaceId} AND ${condition}
        LIMIT ${WEIGHED_MAX}) seen`;
    if (row === undefined) throw new Error('a statement without a row');
    const { counts: seen, ...rest } = row;
    return { ...question, seen: rest, terms: terms.map((term, at) => ({ ...term, seen: seen[at] ?? 0 })) };
  };

  /** The scores of these passages, as a ranking gives them that counted so; those without a word of the question are left out. */
  const score = async (
    { workspaceId, terms, seen }: Question,
    counts: readonly number[],
    passageIds: readonly string[],
  ): Promise<RankedPassage[]> => {
    if (passageIds.length === 0 || counts.length === 0) return [];
    const parts = scoreParts(sql, terms, seen);
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

  return { rank, weigh, score };
}

/** The terms that so few passages have that all of these are ranked, and the others; without words as they are written. */
function splitByRarity({ terms, statistics }: Question, budget: number): [rare: Term[], common: Term[]] {
  const stems = terms.filter(({ stem }) => stem === undefined).sort(byRarity);
  const most = Math.max(1, Math.floor(budget / (RARE_SHARE * statistics.passages + 1)));
  const rare = stems.filter(({ share }) => share === undefined).slice(0, most);
  return [rare, stems.slice(rare.length)];
}

/** With the word as it is written, which only passages with its stem have. */
function toCommonWord({ terms, seen }: Question, term: Term): CommonWord {
  const { share = RARE_SHARE, lexemes } = term;
  const forms = [term, ...terms.filter(({ stem }) => stem === keyOf(term))];
  return {
    lexemes,
    share,
    weight: forms.reduce((sum, each) => sum + weightOf(each, seen.passages), 0),
  };
}

/** As `scoreParts` weighs it. */
function weightOf({ weight, share = RARE_SHARE, ...term }: Term, passages: number): number {
  const seen = term.seen ?? share * passages;
  return weight * Math.log1p((Math.max(passages, seen) - seen + 0.5) / (seen + 0.5));
}

/** `total`: the sum of the weights of all terms, which a score is a share of. */
type Ranked = Omit<RankedByWords, 'more'> & { passages: number; total: number };

type Matching = Omit<RankOptions, 'exact'> & {
  matches: readonly string[];
  uncounted: readonly Term[];
  budget: number;
};

async function rankPassages(sql: Transaction, question: Question, options: Matching): Promise<Ranked> {
  const { workspaceId, terms, seen } = question;
  const { budget, limit } = options;
  const counts = terms.map(
    (term, index) =>
      sql`(${countOf(sql, question, { ...options, term, index })})::float8 AS ${column(sql, 'n', index)}`,
  );
  const parts = scoreParts(sql, terms, seen);
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
  const rows = await sql<{ id: string; score: number; counts: number[]; passages: number; total: number }[]>`
    WITH candidate AS MATERIALIZED (SELECT passage_id, ${parts.ranks} FROM (${union(sql, candidates)}) found),
    counted AS (SELECT count(*) AS candidates, ${list(sql, counts)} FROM candidate),
    weighed AS (SELECT ARRAY[${list(sql, counted)}] AS counts, ${parts.weights} FROM counted)
    SELECT passage_id::text AS id, ${parts.score} AS score, counts, count(*) OVER ()::int AS passages,
      (${parts.total})::float8 AS total
    FROM candidate, weighed ORDER BY 2 DESC, passage_id LIMIT ${limit}`;
  return {
    found: rows.map(({ id, score }) => ({ passageId: id, score })),
    counts: rows[0]?.counts ?? [],
    passages: rows[0]?.passages ?? 0,
    total: rows[0]?.total ?? 0,
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
  { passages, averageLength }: Question['seen'],
): { ranks: Fragment; weights: Fragment; score: Fragment; total: Fragment } {
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
  const total = sum(terms.map((_, index) => column(sql, 'w', index)));
  return {
    ranks: sql`(1 - ${LENGTH_WEIGHT}::float8
      + ${LENGTH_WEIGHT}::float8 * length / ${Math.max(1, averageLength)}::float8) AS longer, ${list(sql, ranks)}`,
    weights: list(sql, weights),
    score: sql`((${sum(score)}) / (${total}))::float8`,
    total,
  };
}

/** How many passages have a term: of those that the caller sees, by the sample, or of those that were found by it. */
function countOf(
  sql: Transaction,
  { workspaceId, statistics }: Question,
  { term, index, uncounted, among }: Matching & { term: Term; index: number },
): Fragment {
  if (term.seen !== undefined) return sql`${term.seen}::float8`;
  const share = term.share ?? (uncounted.includes(term) ? RARE_SHARE : undefined);
  if (share !== undefined) return sql`${share * statistics.passages}::float8`;
  if (among === undefined) return sql`count(*) FILTER (WHERE ${column(sql, 'r', index)} > 0)`;
  return sql`(SELECT count(*) FROM document_passage_words
    WHERE workspace_id = ${workspaceId} AND words @@ ${anyOf([term])}::tsquery)`;
}
