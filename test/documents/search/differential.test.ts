// Thousands of random searches over a nasty corpus, item by item and in order as the oracle says, totals included.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createConcurrencyLimit } from '../../../src/core/concurrency-limit.ts';
import type { Document } from '../../../src/documents/document.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { createRandom, randomDocument, readDocuments, storeDocuments } from './corpus.ts';
import { expectedPage } from './oracle.ts';
import { randomQuery } from './query-texts.ts';

setDefaultTimeout(300_000);

const DOCUMENTS = 1200;
const QUERIES = 6000;

let database: TestDatabase;
let documents: Document[];
beforeAll(async () => {
  database = await testDatabase();
  const random = createRandom(20_241_121);
  const made = Array.from({ length: DOCUMENTS }, (_, index) =>
    randomDocument(random, index % 10 === 0 ? 'other' : 'acme'),
  );
  await storeDocuments(database.sql, made);
  documents = await readDocuments(
    database.sql,
    made.map(({ id }) => id),
  );
});
afterAll(() => database.drop());

test(`${QUERIES} random searches in Postgres equal the oracle's`, async () => {
  expect(documents).toHaveLength(DOCUMENTS);
  const slow = createConcurrencyLimit({ runningMax: 2, waitingMax: 100, refusal: '' });
  const search = createPostgresSearch({ sql: database.sql, bucket: 'atrium', slow });
  const random = createRandom(Number(process.env['SEARCH_SEED'] ?? 7));
  let nonEmpty = 0;
  for (let round = 0; round < QUERIES; round += 4) {
    const queries = Array.from({ length: 4 }, () => randomQuery(random, documents));
    const pages = await Promise.all(queries.map((query) => search.search(query)));
    for (const [index, query] of queries.entries()) {
      const expected = expectedPage(documents, query);
      const page = pages[index];
      if (expected.total > 0) nonEmpty += 1;
      const found = { ids: page?.documents.map(({ id }) => id) ?? [], total: page?.total ?? -1 };
      if (!Bun.deepEquals(found, expected)) throw new Error(explain(query, found, expected));
    }
  }
  expect(nonEmpty).toBeGreaterThan(QUERIES / 3);
});

const explain = (query: unknown, found: object, expected: object): string =>
  `${JSON.stringify(query, null, 1)}\nfound ${JSON.stringify(found)}\nexpected ${JSON.stringify(expected)}`;
