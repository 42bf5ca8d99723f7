// One ranking out of words and vectors: of what either half has found, by scores, among what the caller may see.

import { expect, test } from 'bun:test';
import { fuse } from '../../../src/documents/retrieval/fusion.ts';
import { FEW_DOCUMENTS } from '../../../src/documents/retrieval/limits.ts';
import type { SearchVectors } from '../../../src/documents/vectors/search.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { asked, inWorkspace, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());

const LOCAL = 'local-multilingual-e1';
const passages = (...scores: [passageId: string, score: number][]) =>
  scores.map(([passageId, score]) => ({ passageId, score }));
const orderOf = (ranked: { passageId: string }[]) => ranked.map(({ passageId }) => passageId).join('');

test('what either half has found is ranked once, by both scores', () => {
  const words = passages(['1', 0.6], ['2', 0.3], ['3', 0.3]);
  const found = passages(['3', 0.7], ['4', 0.5], ['1', 0.2]);
  const ranked = fuse(words, { found });
  expect(orderOf(ranked)).toBe('1324');
  for (const { score } of ranked) expect(score >= 0 && score <= 1).toBe(true);
  expect(Object.fromEntries(ranked.map(({ passageId, halves }) => [passageId, halves]))).toEqual({
    1: { words: 0.6, vectors: 0.2 },
    2: { words: 0.3, vectors: null },
    3: { words: 0.3, vectors: 0.7 },
    4: { words: 0, vectors: 0.5 },
  });
});

test('words that are sure are not overruled by vectors, and vectors decide where words hardly differ', () => {
  const found = passages(['2', 0.9], ['1', 0.1]);
  expect(orderOf(fuse(passages(['1', 0.6], ['2', 0.2]), { found }))).toBe('12');
  expect(orderOf(fuse(passages(['1', 0.3], ['2', 0.2]), { found }))).toBe('21');
});

test('a model whose cosines are all high decides by their differences', () => {
  const words = passages(['1', 0.3], ['2', 0.3]);
  const found = passages(['2', 0.82], ['1', 0.8], ['3', 0.75]);
  const scores = fuse(words, { found }).map(({ score }) => score);
  expect(orderOf(fuse(words, { found }))).toBe('213');
  expect(scores[2]).toBe(0);
});

/** Vectors as a test gives them; the real ones are those of the service's own tests. */
type Found = { passageId: string; score: number; documentId?: string };

/** As the engine does it, of the documents alone that it is given. */
const fakeVectors =
  (found: () => Found[]): SearchVectors =>
  async ({ limit, documents }) => {
    const among = await documents;
    const fits = ({ documentId }: Found) => documentId === undefined || among?.has(documentId) !== false;
    return { engine: `${LOCAL} (exact scan)`, found: found().filter(fits).slice(0, limit) };
  };

const idsOf = async (workspaceId: string): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    SELECT id::text AS id FROM document_passages WHERE workspace_id = ${workspaceId} ORDER BY id`;
  return rows.map(({ id }) => id);
};

test('each mode asks its half, and says so; without vectors all ask words', async () => {
  let found: { passageId: string; score: number }[] = [];
  const retrieval = retrievalIn(
    sql,
    fakeVectors(() => found),
  );
  const viewer = inWorkspace(`w-${crypto.randomUUID()}`);
  await retrieval.store(viewer, 'en', 'The gasket leaks.', 'The flange is tight.', 'Something else.');
  const ids = await idsOf(viewer.workspaceId);
  found = [
    { passageId: ids[1] ?? '', score: 0.9 },
    { passageId: ids[2] ?? '', score: 0.4 },
  ];
  const by = async (mode: 'words' | 'vectors' | 'hybrid', of = retrieval) => {
    const answer = await of.retrieve(viewer, asked('gasket', { mode }));
    return { engine: answer.engine, texts: answer.passages.map(({ text }) => text) };
  };
  expect(await by('words')).toEqual({ engine: 'postgres words', texts: ['The gasket leaks.'] });
  expect(await by('vectors')).toEqual({
    engine: `${LOCAL} (exact scan)`,
    texts: ['The flange is tight.', 'Something else.'],
  });
  expect(await by('hybrid')).toEqual({
    engine: `postgres words + ${LOCAL} (exact scan)`,
    texts: ['The gasket leaks.', 'The flange is tight.', 'Something else.'],
  });
  const without = retrievalIn(sql, async () => undefined);
  for (const mode of ['vectors', 'hybrid'] as const)
    expect(await by(mode, without)).toEqual({
      engine: 'postgres words (vectors are not available)',
      texts: ['The gasket leaks.'],
    });
});

test('in every mode there are as many passages as asked for, behind those that the caller may not see', async () => {
  let found: Found[] = [];
  const retrieval = retrievalIn(
    sql,
    fakeVectors(() => found),
  );
  const workspaceId = `w-${crypto.randomUUID()}`;
  const [owner, other] = [inWorkspace(workspaceId), { ...inWorkspace(workspaceId), admin: false }];
  await retrieval.store(owner, 'en', ...Array.from({ length: 700 }, () => 'The gasket.'));
  const seen = await retrieval.store(
    other,
    'en',
    ...Array.from({ length: 20 }, () => 'A gasket, among other things.'),
  );
  // So many documents that the vectors are not asked for those of the caller alone.
  for (let document = 0; document < FEW_DOCUMENTS; document++)
    await retrieval.store(other, 'en', 'The flange.');
  const all = await sql<{ passageId: string; documentId: string }[]>`
    SELECT id::text AS "passageId", document_id AS "documentId" FROM document_passages
    WHERE workspace_id = ${workspaceId} ORDER BY id`;
  found = all.map((each, index) => ({ ...each, score: 0.9 - index / 1000 }));
  const rows = await sql<{ passage: number; id: string }[]>`
    SELECT passage, id::text AS id FROM document_passages WHERE document_id = ${seen}`;
  const scores = new Map(
    rows.map(({ passage, id }) => [passage, found.find(({ passageId }) => passageId === id)?.score]),
  );
  for (const mode of ['words', 'vectors', 'hybrid'] as const) {
    const answer = await retrieval.retrieve(other, asked('gasket', { mode, limit: 20 }));
    expect({ mode, found: answer.passages.length }).toEqual({ mode, found: 20 });
    // Each has the score of its own vector.
    if (mode === 'words') continue;
    for (const { passage, halves } of answer.passages) expect(halves?.vectors).toBe(scores.get(passage));
  }
});
