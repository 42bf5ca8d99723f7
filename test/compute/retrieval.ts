// How well an order of documents answers a query.

import type { Query } from './corpus/index.ts';

const CUT = 10;

/** For a query the place of each document, best first. */
export type Ranking = (query: Query) => readonly number[];

export type Quality = { recall: number; ndcg: number };

/** Means over the queries, of what stands among the first ten. */
export function measureQuality(queries: readonly Query[], rank: Ranking): Quality {
  let recall = 0;
  let ndcg = 0;
  for (const query of queries) {
    const shown = rank(query).slice(0, CUT);
    recall += shown.filter((place) => query.relevant.has(place)).length / query.relevant.size;
    ndcg += gain(shown.map((place) => query.relevant.has(place))) / gain([...query.relevant].map(() => true));
  }
  return { recall: recall / queries.length, ndcg: ndcg / queries.length };
}

const gain = (relevant: readonly boolean[]): number =>
  relevant.reduce((sum, is, index) => sum + (is ? 1 / Math.log2(index + 2) : 0), 0);

/** By descending score; the earlier document first among equals. */
const byScore = (scores: readonly number[]): number[] =>
  scores.map((_, place) => place).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);

export function rankByVectors(
  rows: readonly Float32Array[],
  vectorOf: (query: Query) => Float32Array,
): Ranking {
  const dot = (a: Float32Array, b: Float32Array): number =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  return (query) => {
    const vector = vectorOf(query);
    return byScore(rows.map((row) => dot(row, vector)));
  };
}

/** Words; where there are no blanks between them, pairs of characters, as search engines do it. */
function wordsOf(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(word)) return [word];
    const characters = [...word];
    return characters.length === 1
      ? characters
      : characters.slice(1).map((each, index) => `${characters[index]}${each}`);
  });
}

/** Okapi BM25 with the usual k1 = 1.2 and b = 0.75. */
export function rankByBm25(documents: readonly string[]): Ranking {
  const counted = documents.map((text) => {
    const words = wordsOf(text);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { counts, length: words.length };
  });
  const mean = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;
  const holding = new Map<string, number>();
  for (const { counts } of counted)
    for (const word of counts.keys()) holding.set(word, (holding.get(word) ?? 0) + 1);
  return ({ text }) => {
    const asked = new Set(wordsOf(text));
    const scores = counted.map(({ counts, length }) => {
      let score = 0;
      for (const word of asked) {
        const count = counts.get(word) ?? 0;
        const held = holding.get(word) ?? 0;
        const idf = Math.log(1 + (documents.length - held + 0.5) / (held + 0.5));
        score += (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / mean));
      }
      return score;
    });
    return byScore(scores);
  };
}

/** By chance, the same one in every run. */
export function rankAtRandom(size: number): Ranking {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
  return () => byScore(Array.from({ length: size }, next));
}
