// Parsing gives the values of JSON.parse, and says where malformed text goes wrong in the words of Python's decoder,
// which the interface's bodies carry.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJsonWithin } from '../../src/core/json.ts';
import { checkJson, JsonMistake } from '../../src/core/json-mistake.ts';
import { inSlices } from '../../src/core/time-slices.ts';

const OPTIONS = { nestingMax: 64, valuesMax: 1_000_000 };

type Options = typeof OPTIONS & { anyNumber?: boolean };

const parse = (text: string, options: Options = OPTIONS): Promise<unknown> => parseJsonWithin(text, options);

async function mistakeIn(text: string, options?: Options): Promise<JsonMistake> {
  try {
    await parse(text, options);
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
  test(JSON.stringify(text), async () => {
    const mistake = await mistakeIn(text);
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

test('it takes what JSON.parse takes, and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(damagedTexts, async (text) => {
      let expected: unknown;
      try {
        expected = JSON.parse(text, positiveZero);
      } catch {
        const { index, message } = await mistakeIn(text);
        expect(index).toBeWithin(0, text.length + 1);
        expect(message).not.toBe('');
        return;
      }
      const parsed = await parse(text, { ...OPTIONS, anyNumber: true });
      expect(JSON.parse(JSON.stringify(parsed), positiveZero)).toEqual(expected);
      await inSlices(checkJson(text, OPTIONS, () => true));
    }),
    { numRuns: 3000 },
  );
});

test('an open string of any length is told where it begins', async () => {
  const open = `["${'a'.repeat(100_000)}`;
  expect(await mistakeIn(open)).toMatchObject({ message: 'Unterminated string starting at', index: 1 });
});

test('the last of two members of one name counts, and __proto__ is a name like any other', async () => {
  const parsed = (await parse('{"a":1,"__proto__":{"b":2},"a":12345678901234567890}')) as object;
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(JSON.stringify(parsed)).toBe('{"a":12345678901234567890,"__proto__":{"b":2}}');
});

describe('ceilings hold at, below and above themselves', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const list = (values: number): string =>
    `[${Array(values - 1)
      .fill(0)
      .join(',')}]`;

  test('of nesting', async () => {
    expect(JSON.stringify(await parse(nested(64)))).toBe(nested(64));
    expect(await mistakeIn(nested(65))).toMatchObject({ kind: 'nesting', index: 64 });
    expect(await mistakeIn('['.repeat(1_000_000))).toMatchObject({ kind: 'nesting' });
  });

  test('of values', async () => {
    const options = { nestingMax: 64, valuesMax: 10 };
    expect(await parse(list(10), options)).toHaveLength(9);
    expect(await parse('[[],[],[],[],[],[],[],[],[]]', options)).toHaveLength(9);
    expect(await mistakeIn(list(11), options)).toMatchObject({ kind: 'values' });
    expect(await mistakeIn('{"a":{"b":[1,2,3]},"c":[4,5,6,7]}', options)).toMatchObject({ kind: 'values' });
  });
});
