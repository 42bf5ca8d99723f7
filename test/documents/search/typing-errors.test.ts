// Which words of `q` may be mistyped. What Postgres then finds stands in test/acceptance/search.test.ts.

import { expect, test } from 'bun:test';
import { INDEX_SETTINGS } from '../../../src/documents/search/meilisearch/settings.ts';

test('the mirror forgives one mistake from four letters on and two from nine on, as Postgres does', () => {
  expect(INDEX_SETTINGS.typoTolerance).toEqual({ minWordSizeForTypos: { oneTypo: 4, twoTypos: 9 } });
});
