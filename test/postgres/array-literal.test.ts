// Arrays come back from their text form as they went in, by our hand and by the server's.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseArray, renderArray } from '../../src/infra/postgres/column-types.ts';

const element = fc.option(
  fc.oneof(fc.string(), fc.constantFrom('', 'NULL', '{}', '"', '\\', ',', ' ', 'a b')),
);

test('rendered and parsed, an array is the same', () => {
  fc.assert(
    fc.property(fc.array(element), (array) => {
      expect(parseArray(renderArray(array), String)).toEqual(array);
    }),
  );
});

test('nested arrays, too', () => {
  fc.assert(
    fc.property(fc.array(fc.array(element, { minLength: 1 }), { minLength: 1 }), (array) => {
      expect(parseArray(renderArray(array), String)).toEqual(array);
    }),
  );
});

test('bounds before the array are skipped, and elements converted', () => {
  expect(parseArray('[2:3]={1,2}', Number)).toEqual([1, 2]);
  expect(parseArray('{{1,NULL},{3,4}}', Number)).toEqual([
    [1, null],
    [3, 4],
  ]);
  expect(parseArray('{}', Number)).toEqual([]);
});
