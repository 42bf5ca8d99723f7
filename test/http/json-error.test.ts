// Malformed JSON is answered with the offset and the words of Python's decoder, which the interface's bodies carry.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { locateJsonError } from '../../src/http/json-error.ts';

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

for (const [text, error, offset] of VECTORS) {
  test(JSON.stringify(text), () => {
    expect(locateJsonError(text)).toEqual({ error, offset });
  });
}

test('every text that JSON.parse refuses has a mistake inside it', () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '{', ':', 'x'))
    .map(
      ([text, at, insert]) =>
        text.slice(0, at % (text.length + 1)) + insert + text.slice((at % (text.length + 1)) + 1),
    );
  fc.assert(
    fc.property(damaged, (text) => {
      try {
        JSON.parse(text);
      } catch {
        const { offset, error } = locateJsonError(text);
        expect(offset).toBeWithin(0, text.length + 1);
        expect(error).not.toBe('');
      }
    }),
    { numRuns: 2000 },
  );
});
