// Which passages of a large workspace are ranked: so few that a search is quick, and all that could be among the first.

import { expect, test } from 'bun:test';
import type { Viewer } from '../../../src/documents/policy.ts';
import { COMBINED_MAX } from '../../../src/documents/retrieval/limits.ts';
import { createUnderstand } from '../../../src/documents/retrieval/question.ts';
import { createReadStatistics, createTakeStatistics } from '../../../src/documents/retrieval/statistics.ts';
import { createStemmer } from '../../../src/documents/retrieval/stems.ts';
import { createThresholds } from '../../../src/documents/retrieval/thresholds.ts';
import { createWordRanking } from '../../../src/documents/retrieval/words.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { createRandom } from '../search/corpus.ts';
import { inWorkspace, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());

test('at each level the index finds exactly the passages whose words come to it', async () => {
  const random = createRandom(3);
  for (let round = 0; round < 40; round++) {
    const words = Array.from({ length: 1 + random.whole(COMBINED_MAX) }, (_, index) => ({
      lexemes: index % 3 === 0 ? [`a${index}`, `b${index}`] : [`a${index}`],
      share: 0.01 + random.whole(50) / 100,
      weight: 1 + random.whole(900) / 100,
    }));
    const thresholds = createThresholds(words);
    const level = thresholds.levelOf(1_000_000, 10 ** random.whole(6));
    const query = thresholds.matching(level);
    for (let passage = 0; passage < 20; passage++) {
      const has = words.filter(() => random.whole(2) === 0);
      const sum = has.reduce((total, { weight }) => total + weight, 0);
      const vector = has.map(({ lexemes }) => `'${lexemes.at(-1)}':1`).join(' ');
      const [row] = await sql`SELECT ${vector}::tsvector @@ ${query}::tsquery AS found`;
      expect(row?.['found']).toBe(has.length > 0 && sum >= level - 1e-9);
    }
  }
});

test('of many words the least are reckoned with, and the condition for the index stays small', () => {
  const words = Array.from({ length: 60 }, (_, index) => ({
    lexemes: [`a${index}`],
    share: 0.02,
    weight: 1 + index / 100,
  }));
  const thresholds = createThresholds(words);
  const least = words.slice(0, -COMBINED_MAX).reduce((sum, { weight }) => sum + weight, 0);
  expect(thresholds.rest).toBeCloseTo(least, 6);
  for (const wanted of [1, 100, 10_000, 1_000_000])
    expect(thresholds.matching(thresholds.levelOf(1_000_000, wanted)).length).toBeLessThan(10_000);
});

test('of a large workspace the first passages are those with the highest scores of all, with common words alone and beside rare ones', async () => {
  const retrieval = retrievalIn(sql);
  const viewer = inWorkspace(`w-${crypto.randomUUID()}`);
  const random = createRandom(5);
  // The n-th of 400 words is about 1/n as frequent as the first.
  const word = () => `w${Math.floor(400 ** (random.whole(10_000) / 10_000))}x`;
  const text = () => Array.from({ length: 10 + random.whole(40) }, word).join(' ');
  for (let part = 0; part < 6; part++)
    await retrieval.store(viewer, null, ...Array.from({ length: 1000 }, text));
  await createTakeStatistics(sql)(new AbortController().signal);
  const stemmer = createStemmer();
  const statistics = createReadStatistics();
  const readStatistics = (by: Viewer) => statistics(sql, by);
  const understand = createUnderstand({ sql, stemmer, readStatistics });
  const ranking = createWordRanking(sql);
  const all = (
    await sql<{ id: string }[]>`
      SELECT passage_id::text AS id FROM document_passage_words WHERE workspace_id = ${viewer.workspaceId}`
  ).map(({ id }) => id);
  for (const asked of ['w40x w50x w60x', 'w9x w30x w80x w200x', 'w2x w3x w5x w7x', 'w390x w5x w1x', 'w17x']) {
    const question = await understand(viewer, asked);
    const { found, counts } = await ranking.rank(question, { limit: 100, exact: 10, among: undefined });
    const scores = (await ranking.score(question, counts, all)).map(({ score }) => score);
    const best = scores.toSorted((left, right) => right - left).slice(0, 10);
    expect({ asked, scores: found.slice(0, 10).map(({ score }) => score.toFixed(9)) }).toEqual({
      asked,
      scores: best.map((score) => score.toFixed(9)),
    });
  }
});
