// JSON comes back as it went in: no digit lost, nothing that the database would refuse let through.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { findUnstorable, parseJson, parseJsonAsWritten, parseJsonWithin } from '../../src/core/json.ts';
import { JsonMistake } from '../../src/core/json-mistake.ts';
import { leastProcessorMs } from '../support/processor-time.ts';

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
    expect(() => parseJson('{"a":[1e400]}')).toThrow('Number out of range');
    expect(JSON.stringify(parseJson('[1e308,-1e-320]'))).toBe('[1e+308,-1e-320]');
  });
});

describe('parseJsonWithin', () => {
  const limits = { nestingMax: 8, valuesMax: 1_000_000 };

  test('gives the same for large texts and for numbers of many digits', async () => {
    const rows = Array.from({ length: 25_000 }, (_, row) => ({ row, name: `Zeile ${row} “é”\n`, ok: null }));
    const large = JSON.stringify(rows);
    expect(large.length).toBeGreaterThan(600_000);
    expect(await parseJsonWithin(large, limits)).toEqual(rows);
    expect(await parseJsonWithin('[12345678901234567890,1e2]', limits)).toEqual([
      JSON.rawJSON('12345678901234567890'),
      100,
    ]);
  });

  test('finds the same mistake in both', async () => {
    const blanks = ' '.repeat(1_000_000);
    for (const text of ['[1,2', '[1e400]', '[[[[[[[[[1]]]]]]]]]', '{"a":1,}', '"\\u00']) {
      const small: unknown = await parseJsonWithin(text, limits).catch((error: unknown) => error);
      const large: unknown = await parseJsonWithin(blanks + text, limits).catch((error: unknown) => error);
      expect(small).toBeInstanceOf(JsonMistake);
      const { kind, message, index } = small as JsonMistake;
      expect(large).toMatchObject({ kind, message, index: index + blanks.length });
    }
  });

  test('takes many values, or fewer where a number has more digits than a double keeps', async () => {
    const many = (count: number, last: string): string => `[${'1,'.repeat(count - 2)}${last}]`;
    const exact = '12345678901234567890';
    expect(await parseJsonWithin(many(140_000, '1'), limits)).toHaveLength(139_999);
    expect(await parseJsonWithin(many(131_072, exact), limits)).toHaveLength(131_071);
    const refused = parseJsonWithin(many(131_073, exact), limits);
    expect(await refused.catch((error: unknown) => error)).toMatchObject({ kind: 'digits' });
  });

  test('other work goes on while a large list of floats is parsed', async () => {
    const large = `[${'0.1234567890123456,'.repeat(900_000)}1]`;
    let ended = false;
    const parsing = parseJsonWithin(large, { nestingMax: 2, valuesMax: 1_000_000 }).finally(() => {
      ended = true;
    });
    let turns = 0;
    for (; !ended; turns++) await new Promise((resolve) => setTimeout(resolve, 0));
    expect(await parsing).toHaveLength(900_001);
    expect(turns).toBeGreaterThan(3);
  });
});

test('the cost of a long number is linear in its length', () => {
  const parse = (zeros: number): number => {
    const text = `[1.${'0'.repeat(zeros)}1]`;
    return leastProcessorMs(() => expect(() => parseJson(text)).toThrow());
  };
  parse(30_000);
  const short = parse(100_000);
  const long = parse(1_000_000);
  // Ten times the length; a quadratic cost would be a hundred times as much.
  expect(long).toBeLessThan(Math.max(short, 0.2) * 40);
});

test('what cannot be stored is found at any depth, with its place', () => {
  const at = (value: unknown) => findUnstorable(value, 64)?.path;
  expect(at({ a: [1, { b: 'x\u0000' }] })).toEqual(['a', 1, 'b']);
  expect(at({ a: { 'k\ud800': 1 } })).toEqual(['a', 'k\ufffd']);
  expect(at(parseJsonAsWritten('{"a":[1e400]}'))).toEqual(['a', 0]);
  expect(at({ a: [1, 'é', null, true] })).toBeUndefined();
});
