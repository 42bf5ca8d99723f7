// Embeddings on the threads: order, cancellation, texts that nobody should send, and what they are good for.

import { describe, expect, test } from 'bun:test';
import { normaliseText } from '../../src/compute/normalise.ts';
import { LOCAL_EMBEDDING_MODEL } from '../../src/core/embed-texts.ts';
import { shared } from '../support/shared.ts';
import { createCorpus } from './corpus/index.ts';
import { measureQuality, rankAtRandom, rankByBm25, rankByVectors } from './retrieval.ts';
import { startEmbedding } from './support/embedding.ts';
import { embedPlainly } from './support/reference.ts';

const embedding = await shared(startEmbedding());

const never = new AbortController().signal;
const plainly = (text: string): Float32Array => embedPlainly(normaliseText(text));

describe('a list of texts', () => {
  test('comes back in its order, however it was shared out', async () => {
    const texts = Array.from(
      { length: 2048 },
      (_, index) => `text ${index} ${'of some length '.repeat(index % 7)}`,
    );
    const rows = await embedding.rows(texts);
    expect(rows.length).toBe(2048);
    for (const [index, text] of texts.entries()) expect(rows[index]).toEqual(plainly(text));
  });

  test('that is short passes a long one', async () => {
    await using single = await startEmbedding(1);
    const ended: string[] = [];
    const long = Array.from({ length: 2048 }, () => 'a text of some length that is embedded '.repeat(10));
    await Promise.all([
      single.embed(long, never).then(() => ended.push('long')),
      single.embed(['two', 'texts'], never).then(() => ended.push('short')),
    ]);
    expect(ended).toEqual(['short', 'long']);
  });

  test('that is empty gives nothing', async () => {
    expect(await embedding.embed([], never)).toEqual(new Float32Array(0));
  });

  test('may hold a megabyte, lone surrogates and nothing but blanks', async () => {
    const texts = [
      'word '.repeat(200_000),
      'x'.repeat(1_000_000),
      '\ud800',
      '\udfff\ud800',
      ' \n\t',
      '',
      '\u0000',
      '\ufdfa'.repeat(1000),
    ];
    const rows = await embedding.rows(texts);
    for (const [index, text] of texts.entries()) expect(rows[index]).toEqual(plainly(text));
    for (const row of rows) expect(Math.hypot(...row)).toBeCloseTo(1, 5);
  });

  test('is the same every time, and many at once do not mix', async () => {
    const lists = Array.from({ length: 50 }, (_, list) =>
      Array.from({ length: 20 + list }, (_, index) => `list ${list} text ${index}`),
    );
    const all = await Promise.all(lists.map((list) => embedding.rows(list)));
    for (const [list, texts] of lists.entries()) expect(all[list]).toEqual(texts.map(plainly));
  });

  test('whose caller leaves is given up with the reason', async () => {
    const leaving = new AbortController();
    const texts = Array.from({ length: 2048 }, () => 'a text of some length that is embedded '.repeat(10));
    const work = embedding.embed(texts, leaving.signal).catch((error: unknown) => error);
    leaving.abort('left');
    expect(await work).toBe('left');
    expect(await embedding.embed(texts, AbortSignal.abort('before')).catch((error: unknown) => error)).toBe(
      'before',
    );
  });
});

test('a single text of up to 256 characters takes no thread', async () => {
  await using without = await startEmbedding(0);
  for (const text of ['', 'A word', 'é'.repeat(255), '\ufdfa'.repeat(256)])
    expect(await without.rows([text])).toEqual([plainly(text)]);
});

test('the model says what it is', () => {
  expect(LOCAL_EMBEDDING_MODEL).toEqual({ id: 'local-multilingual-e1', dimensions: 384 });
});

test('in eight languages it finds more of what was asked for than BM25 does, and far more than chance', async () => {
  const { documents, queries } = createCorpus();
  expect(documents.length).toBeGreaterThan(200);
  const rows = await embedding.rows(documents);
  const asked = await embedding.rows(queries.map(({ text }) => text));
  const vectors = new Map(queries.map((query, index) => [query, asked[index] ?? new Float32Array(384)]));
  const kernel = measureQuality(
    queries,
    rankByVectors(rows, (query) => vectors.get(query) ?? new Float32Array(384)),
  );
  const bm25 = measureQuality(queries, rankByBm25(documents));
  const random = measureQuality(queries, rankAtRandom(documents.length));
  // What the README says, to the third digit.
  expect({ recall: kernel.recall.toFixed(3), ndcg: kernel.ndcg.toFixed(3) }).toEqual({
    recall: '0.663',
    ndcg: '0.729',
  });
  expect(kernel.recall).toBeGreaterThan(bm25.recall);
  expect(kernel.ndcg).toBeGreaterThan(bm25.ndcg);
  expect(kernel.recall).toBeGreaterThan(10 * random.recall);
});
