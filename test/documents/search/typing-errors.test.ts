// Which words of `q` may be mistyped, and by how much. What Postgres then finds stands in test/acceptance/search.test.ts.

import { expect, test } from 'bun:test';
import { INDEX_SETTINGS } from '../../../src/documents/search/meilisearch/document.ts';
import { typingErrors } from '../../../src/documents/search/postgres/text.ts';

test('the mirror forgives one mistake from four letters on and two from nine on, as Postgres does', () => {
  expect(INDEX_SETTINGS.typoTolerance).toEqual({ minWordSizeForTypos: { oneTypo: 4, twoTypos: 9 } });
});

test.each([
  ['quarterly', 'quarterly', 0],
  ['quartely', 'quarterly', 1],
  ['qaurterly', 'quarterly', 1],
  ['quarterlyy', 'quarterly', 1],
  ['quxrtexly', 'quarterly', 2],
  ['abc', 'xyz', 3],
  ['a', 'abcdef', 3],
])('%s for %s is %d typing errors', (left, right, errors) => {
  expect(typingErrors(left, right)).toBe(errors);
});
