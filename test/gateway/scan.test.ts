// A body is understood without building anything of it, and changed without touching anything else.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/json.ts';
import { readMember, readRequest, splice } from '../../src/gateway/request.ts';
import { type Members, scanObject } from '../../src/gateway/scan.ts';
import { leastProcessorMs } from '../support/processor-time.ts';

const encoder = new TextEncoder();
const bytesOf = (text: string): Uint8Array => encoder.encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

type Member = { name: string; value: unknown };

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('model', 'stream', 'usage', '__proto__', 'a"b', 'a\\', '\\"', '{', ''),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('\\', '"', 'a'), maxLength: 200 }),
);
const members = fc.array(fc.record<Member>({ name, value }), { maxLength: 6 });

/** JSON text with blanks at every place that may have them. */
function write(value: unknown, space: string): string {
  if (Array.isArray(value))
    return `[${space}${value.map((each) => write(each, space)).join(`${space},${space}`)}${space}]`;
  if (typeof value === 'object' && value !== null)
    return writeObject(
      Object.entries(value).map(([key, each]) => ({ name: key, value: each })),
      space,
    );
  return JSON.stringify(value);
}

const writeObject = (all: readonly Member[], space: string): string =>
  `{${space}${all
    .map((each) => `${JSON.stringify(each.name)}${space}:${space}${write(each.value, space)}`)
    .join(`${space},${space}`)}${space}}`;

function membersOf(bytes: Uint8Array): Members {
  const found = scanObject(bytes);
  if (typeof found === 'string') throw new Error(`not understood: ${textOf(bytes)}`);
  return found;
}

test('every member is found, with its name and the text of its value', () => {
  fc.assert(
    fc.property(members, blank, (all, space) => {
      const text = `${space}${writeObject(all, space)}${space}`;
      const bytes = bytesOf(text);
      const found = membersOf(bytes);
      expect(found.names).toEqual(all.map((each) => each.name));
      const values = found.starts.map((start, index) => textOf(bytes.subarray(start, found.ends[index])));
      expect(values).toEqual(all.map((each) => write(each.value, space)));
    }),
    { numRuns: 500 },
  );
});

test('what JSON.parse refuses is refused, strings aside; what it takes is taken', () => {
  // Of characters that are structure, so that near misses are many.
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '1',
    '-',
    '0',
    '.5',
    'e3',
    'true',
    'nul',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
      const text = `{"a":${tokens.join('')}}`;
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      expect({ text, valid: typeof scanObject(bytesOf(text)) === 'object' }).toEqual({ text, valid });
    }),
    { numRuns: 3000 },
  );
});

test('a body that was cut anywhere, or continued, is none', () => {
  const text = '{"a":[1,{"b":"\\"}"}],"c":-1.5e+3,"d":null}';
  for (let length = 0; length < text.length; length++)
    expect(scanObject(bytesOf(text.slice(0, length)))).toBe('malformed');
  for (const more of ['}', ',', '{}', 'x', '\0', '"'])
    expect(scanObject(bytesOf(text + more))).toBe('malformed');
});

test('no bytes make it throw or run forever', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      scanObject(bytes);
      scanObject(Buffer.concat([Buffer.from('{"a":'), bytes]));
    }),
    { numRuns: 500 },
  );
});

test('nesting is bounded, not recursed into', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  expect(scanObject(bytesOf(nested(512)))).toBeObject();
  expect(scanObject(bytesOf(nested(513)))).toBe('nesting');
  expect(scanObject(bytesOf(nested(1_000_000)))).toBe('nesting');
  expect(scanObject(bytesOf(`{"a":${'['.repeat(1_000_000)}`))).toBe('nesting');
});

test('values and members are bounded', () => {
  const limits = { nestingMax: 512, valuesMax: 10, membersMax: 3, nameBytesMax: 100 };
  const list = (values: number): string =>
    `[${Array(values - 1)
      .fill(0)
      .join(',')}]`;
  expect(scanObject(bytesOf(`{"a":${list(5)},"b":${list(5)}}`), limits)).toBeObject();
  expect(scanObject(bytesOf(`{"a":${list(5)},"b":${list(6)}}`), limits)).toBe('values');
  expect(scanObject(bytesOf('{"a":1,"b":2,"c":3}'), limits)).toBeObject();
  expect(scanObject(bytesOf('{"a":1,"b":2,"c":3,"d":4}'), limits)).toBe('members');
});

test('strings of quotes and backslashes are read in time that grows with their length alone', () => {
  const measure = (unit: string, times: number): number => {
    const bytes = bytesOf(`{"a":"${unit.repeat(times)}"}`);
    return leastProcessorMs(() => expect(membersOf(bytes).ends[0]).toBe(bytes.length - 1));
  };
  for (const unit of ['\\"', '\\\\', '\\\\\\"', 'a']) {
    measure(unit, 200_000);
    // Ten times the length; a quadratic cost would be a hundred times as much.
    expect(measure(unit, 2_000_000)).toBeLessThan(Math.max(measure(unit, 200_000), 1) * 40);
  }
});

describe('a splice', () => {
  test('changes its members, and no other byte', () => {
    const changes = fc.uniqueArray(fc.record({ name, value: fc.jsonValue({ maxDepth: 2 }) }), {
      selector: (change) => change.name,
      maxLength: 3,
    });
    fc.assert(
      fc.property(members, blank, changes, (all, space, wanted) => {
        const text = writeObject(all, space);
        const bytes = bytesOf(text);
        const found = membersOf(bytes);
        const result = textOf(splice({ bytes, members: found }, wanted as { name: string; value: Json }[]));
        const left = [...wanted];
        const expected = all.map((each, index) => {
          const at = left.findIndex((change) => change.name === each.name);
          const isLast = all.findLastIndex((other) => other.name === each.name) === index;
          const change = isLast ? left.splice(at, at === -1 ? 0 : 1)[0] : undefined;
          if (change === undefined)
            return `${JSON.stringify(each.name)}${space}:${space}${write(each.value, space)}`;
          return `${JSON.stringify(each.name)}${space}:${space}${JSON.stringify(change.value)}`;
        });
        const added = left.map((change) => `${JSON.stringify(change.name)}:${JSON.stringify(change.value)}`);
        const inner = expected.join(`${space},${space}`);
        const first = added.join(',');
        const between = added.length > 0 && all.length > 0 ? ',' : '';
        expect(result).toBe(`{${first}${between}${space}${inner}${space}}`);
      }),
      { numRuns: 1000 },
    );
  });

  test('that changes nothing copies nothing', () => {
    const request = readRequest(bytesOf('{"model":"a","messages":[]}'));
    expect(splice(request, [{ name: 'model', value: 'a' }])).toBe(request.bytes);
  });

  test('keeps bytes that are no UTF-8, and integers above 2^53', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"model":"a","seed":9007199254740993,"x":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);
    const result = splice(readRequest(bytes), [{ name: 'model', value: 'longer' }]);
    expect(Buffer.from(result).toString('latin1')).toBe(
      bytes.toString('latin1').replace('"model":"a"', '"model":"longer"'),
    );
  });
});

describe('a request', () => {
  test('is asked by its model and whether it streams, whatever else it holds', () => {
    fc.assert(
      fc.property(
        members,
        blank,
        fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
        fc.option(fc.constantFrom(true, false, null), { nil: undefined }),
        fc.nat(6),
        (others, space, model, stream, at) => {
          const all = others.filter((each) => each.name !== 'model' && each.name !== 'stream');
          if (model !== undefined) all.splice(at, 0, { name: 'model', value: model });
          if (stream !== undefined) all.splice(at, 0, { name: 'stream', value: stream });
          const request = readRequest(bytesOf(writeObject(all, space)));
          expect(request.model).toBe(model as string);
          expect(request.stream).toBe(stream === true);
          const last = new Map(all.map((each) => [each.name, each.value]));
          for (const [key, expected] of last)
            expect(JSON.stringify(readMember(request, key))).toBe(JSON.stringify(expected));
          expect(readMember(request, 'nobody has this')).toBeUndefined();
        },
      ),
    );
  });

  const refused: [body: string, sentence: RegExp][] = [
    ['', /not valid JSON/],
    ['{', /not valid JSON/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['"model"', /must be a JSON object/],
    ['\ufeff{"model":"a"}', /not valid JSON/],
    ['{"model":"a",}', /not valid JSON/],
    ['{"model":1}', /'model' must be a string/],
    ['{"model":null}', /'model' must be a string/],
    ['{"model":"\\x"}', /'model' is not valid JSON/],
    ['{"model":"a","stream":"yes"}', /'stream' must be a boolean/],
    ['{"model":"a","stream":1}', /'stream' must be a boolean/],
    ['{"model":"a","model":"a"}', /two members 'model'/],
    ['{"model":"a","\\u006dodel":"a"}', /two members 'model'/],
    ['{"stream":true,"stream":true}', /two members 'stream'/],
    [`{"a":${'['.repeat(600)}${']'.repeat(600)}}`, /nested too deeply/],
    [`{"a":[${'1,'.repeat(600_000)}1]}`, /more than 524288 values/],
    [`{${'"a":1,'.repeat(1000)}"model":"a"}`, /more than 1000 members/],
    [`{"${'\\"'.repeat(40_000)}":1}`, /name is longer than 65536 bytes/],
    [`{"model":"${'\\"'.repeat(600_000)}"}`, /'model' is too large/],
  ];
  for (const [body, sentence] of refused)
    test(`is refused: ${body.slice(0, 40)}`, () => {
      expect(() => readRequest(bytesOf(body))).toThrow(sentence);
    });
});
