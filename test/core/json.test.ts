// JSON comes back as it went in: no digit lost, nothing that the database would refuse let through.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { NumberOutOfRange, nestingDepth, parseJson } from '../../src/core/json.ts';

describe('parseJson', () => {
  test('keeps every digit of every number', () => {
    const digits = fc.stringMatching(/^-?[1-9][0-9]{0,40}(\.[0-9]{1,40})?$/);
    fc.assert(
      fc.property(fc.array(digits), (numbers) => {
        const [first] = numbers;
        const text = `{"numbers":[${numbers.join(',')}],"first":${first ?? 'null'}}`;
        const again = JSON.stringify(parseJson(text));
        const normal = (source: string): string =>
          source.includes('.') ? source.replace(/\.?0+$/, '') : source;
        expect(again.match(/-?\d[\d.]*/g)?.map(normal) ?? []).toEqual(
          text.match(/-?\d[\d.]*/g)?.map(normal) ?? [],
        );
      }),
    );
  });

  test('gives the same values as JSON.parse for whatever a double can hold', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(JSON.stringify(parseJson(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('refuses numbers beyond the range of a double', () => {
    expect(() => parseJson('{"a":[1e400]}')).toThrow(NumberOutOfRange);
    expect(JSON.stringify(parseJson('[1e308,-1e-320]'))).toBe('[1e+308,-1e-320]');
  });
});

test('nestingDepth counts arrays and objects, not brackets in strings', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const depthOf = (item: unknown): number =>
        typeof item === 'object' && item !== null ? 1 + Math.max(0, ...Object.values(item).map(depthOf)) : 0;
      expect(nestingDepth(JSON.stringify(value))).toBe(depthOf(value));
    }),
  );
});
