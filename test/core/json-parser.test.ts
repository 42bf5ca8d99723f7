// The parser gives the values of JSON.parse, and says where malformed text goes wrong in the words of Python's decoder,
// which the interface's bodies carry.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JsonMistake, JsonParser, type JsonParserOptions } from '../../src/core/json-parser.ts';

const OPTIONS = { nestingMax: 64, valuesMax: 1_000_000 };

function parse(text: string, options: JsonParserOptions = OPTIONS, valuesAStep = 1_000_000): unknown {
  const parser = new JsonParser(text, options);
  while (!parser.advance(valuesAStep));
  return parser.value();
}

function mistakeIn(text: string, options?: JsonParserOptions): JsonMistake {
  try {
    parse(text, options);
  } catch (error) {
    if (error instanceof JsonMistake) return error;
    throw error;
  }
  throw new Error('the text was parsed');
}

const VECTORS: [text: string, error: string, offset: number][] = [
  ['{', 'Expecting property name enclosed in double quotes', 1],
  ['{"a"}', "Expecting ':' delimiter", 4],
  ['{"a":}', 'Expecting value', 5],
  ['{"a":1 "b":2}', "Expecting ',' delimiter", 7],
  ['[1,]', 'Illegal trailing comma before end of array', 2],
  ['{"a":1,}', 'Illegal trailing comma before end of object', 6],
  ['"abc', 'Unterminated string starting at', 0],
  ['"a\nb"', 'Invalid control character at', 2],
  ['"\\x"', 'Invalid \\escape', 1],
  ['"\\u12g4"', 'Invalid \\uXXXX escape', 2],
  ['{} x', 'Extra data', 3],
  ['nul', 'Expecting value', 0],
  ['   ', 'Expecting value', 3],
];

for (const [text, error, offset] of VECTORS)
  test(JSON.stringify(text), () => {
    const mistake = mistakeIn(text);
    expect({ error: mistake.message, offset: mistake.index }).toEqual({ error, offset });
  });

const damagedTexts = fc
  .tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', ',', '"', '}', ']', '\\', '{', ':', 'x', '-', '1', 'e', '.', ' '),
  )
  .map(
    ([text, at, insert]) =>
      text.slice(0, at % (text.length + 1)) + insert + text.slice((at % (text.length + 1)) + 1),
  );

/** JSON.stringify writes -0 as 0. */
const positiveZero = (_name: string, value: unknown): unknown => (value === 0 ? 0 : value);

test('it takes what JSON.parse takes, and nothing else', () => {
  fc.assert(
    fc.property(damagedTexts, fc.integer({ min: 1, max: 5 }), (text, valuesAStep) => {
      let expected: unknown;
      try {
        expected = JSON.parse(text, positiveZero);
      } catch {
        const { index, message } = mistakeIn(text);
        expect(index).toBeWithin(0, text.length + 1);
        expect(message).not.toBe('');
        return;
      }
      const parsed = parse(text, { ...OPTIONS, anyNumber: true }, valuesAStep);
      expect(JSON.parse(JSON.stringify(parsed), positiveZero)).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});

test('long strings, names among them, are parsed piece by piece', () => {
  const units = ['a', '\\"', '\\\\', '\\ud83d\\ude00', '\\u00e9', 'é'];
  for (const unit of units) {
    for (const length of [65_535, 65_536, 65_537, 200_000]) {
      const string = `"x${unit.repeat(length / unit.length)}"`;
      const text = `{${string}:[${string},1]}`;
      expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
    }
  }
  const open = `["${'a'.repeat(100_000)}`;
  expect(mistakeIn(open)).toMatchObject({ message: 'Unterminated string starting at', index: 1 });
});

test('the last of two members of one name counts, and __proto__ is a name like any other', () => {
  const parsed = parse('{"a":1,"__proto__":{"b":2},"a":3}') as object;
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(JSON.stringify(parsed)).toBe('{"a":3,"__proto__":{"b":2}}');
});

describe('ceilings hold at, below and above themselves', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const list = (values: number): string =>
    `[${Array(values - 1)
      .fill(0)
      .join(',')}]`;

  test('of nesting', () => {
    expect(JSON.stringify(parse(nested(64)))).toBe(nested(64));
    expect(mistakeIn(nested(65))).toMatchObject({ kind: 'nesting', index: 64 });
    expect(mistakeIn('['.repeat(1_000_000))).toMatchObject({ kind: 'nesting' });
  });

  test('of values', () => {
    const options = { nestingMax: 64, valuesMax: 10 };
    expect(parse(list(10), options)).toHaveLength(9);
    expect(mistakeIn(list(11), options)).toMatchObject({ kind: 'values' });
    expect(mistakeIn('{"a":{"b":[1,2,3]},"c":[4,5,6,7]}', options)).toMatchObject({ kind: 'values' });
  });
});
