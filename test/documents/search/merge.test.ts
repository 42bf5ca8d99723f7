// Pages that are merged from what the search server says and what it may lack.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { mergeInOrder } from '../../../src/documents/search/meilisearch/index.ts';
import { typingErrors } from '../../../src/documents/search/postgres/text.ts';

const key = fc.option(fc.constantFrom('a', 'b', 'é', '\u{1f600}', '\uffff', ''), { freq: 4 });
const keyed = fc.record({ id: fc.uuid(), keys: fc.tuple(key) });

test('windows of merged pages are windows of everything in order', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(keyed, { selector: ({ id }) => id, maxLength: 30 }),
      fc.boolean(),
      fc.nat(20),
      fc.nat(10),
      (all, descending, offset, limit) => {
        const order = [{ attribute: 'name' as const, descending }];
        const sorted = mergeInOrder([], all, order);
        const pending = all.filter((_, index) => index % 3 === 0);
        const mirrored = sorted.filter((each) => !pending.some(({ id }) => id === each.id));
        const first = Math.max(0, offset - pending.length);
        const fetched = mirrored.slice(first, offset + limit);
        const page = mergeInOrder(fetched, pending, order).slice(offset - first, offset - first + limit);
        expect(page).toEqual(sorted.slice(offset, offset + limit));
      },
    ),
    { numRuns: 2000 },
  );
});

test('names are in the order of their code points, and those without come last both ways', () => {
  const names = ['\uffff', null, 'b', '\u{1f600}', 'a'];
  const all = names.map((name, index) => ({ id: String(index), keys: [name] }));
  const inOrder = (descending: boolean) =>
    mergeInOrder([], all, [{ attribute: 'name', descending }]).map(({ keys }) => keys[0]);
  expect(inOrder(false)).toEqual(['a', 'b', '\uffff', '\u{1f600}', null]);
  expect(inOrder(true)).toEqual(['\u{1f600}', '\uffff', 'b', 'a', null]);
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
