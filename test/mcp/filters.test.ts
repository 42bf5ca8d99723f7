// The filters of tools are those of the search.

import { expect, test } from 'bun:test';
import { ATTRIBUTES } from '../../src/documents/filter/attributes.ts';
import { Filters, parseFilters } from '../../src/mcp/filters.ts';

test('every attribute of the search may be named, is described, and keeps its value as it is', () => {
  const attributes = Object.keys(ATTRIBUTES);
  const filters = attributes.flatMap((attribute) => [`${attribute}=eq:a=b`, `${attribute}=c`]);
  expect(parseFilters(filters)).toEqual(
    Object.fromEntries(attributes.map((attribute) => [attribute, ['eq:a=b', 'c']])),
  );
  for (const attribute of attributes) expect(Filters.description).toMatch(new RegExp(`\\b${attribute}\\b`));
});

test.each(['', 'name', '=x', 'q=x', 'page=2', '__proto__=x', 'Name=x'])('%p is no filter', (filter) => {
  expect(() => parseFilters([filter])).toThrow('filters.0: A filter is written');
});
