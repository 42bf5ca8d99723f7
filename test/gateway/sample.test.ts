// What is made up for a schema satisfies it, in the eyes of a validator that knows nothing of how it was made.

import { describe, expect, test } from 'bun:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { Json } from '../../src/core/json.ts';
import { NoSample, sampleOf } from '../../src/gateway/local/sample.ts';

const ajv = addFormats(new Ajv2020({ strict: false, ownProperties: true }));

const roundTrip = (value: Json): unknown => JSON.parse(JSON.stringify(value));

/** Undefined where there is no sample. */
function trySample(schema: Json, text = 'some text'): { value: unknown } | undefined {
  try {
    return { value: roundTrip(sampleOf(schema, text)) };
  } catch (error) {
    if (error instanceof NoSample) return undefined;
    throw error;
  }
}

// The validator compares objects by these methods where they have them, and calls what is no method.
const COMPARED_BY = ['toString', 'valueOf', 'constructor'];
const constant = (fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>).filter(
  (value) =>
    !COMPARED_BY.some((name) => typeof value === 'object' && value !== null && Object.hasOwn(value, name)),
);

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(true, {}, { type: 'boolean' }, { type: 'null' }, { type: ['integer', 'null'] }),
  fc.record(
    { type: fc.constant('string'), minLength: fc.nat(12), maxLength: fc.nat(12) },
    { requiredKeys: ['type'] },
  ),
  fc.record({
    type: fc.constant('string'),
    format: fc.constantFrom('date-time', 'date', 'time', 'email', 'uuid', 'uri', 'hostname', 'ipv4', 'regex'),
  }),
  fc.record(
    {
      type: fc.constantFrom('integer', 'number'),
      minimum: fc.double({ noNaN: true, min: -20, max: 20 }),
      maximum: fc.integer({ min: -20, max: 20 }),
      exclusiveMinimum: fc.integer({ min: -20, max: 20 }),
      exclusiveMaximum: fc.integer({ min: -20, max: 20 }),
    },
    { requiredKeys: ['type'] },
  ),
  fc.record(
    {
      enum: fc.uniqueArray(constant, {
        minLength: 1,
        maxLength: 3,
        comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      }),
      type: fc.constantFrom('string', 'integer', 'number', 'object'),
    },
    { requiredKeys: ['enum'] },
  ),
  fc.record({ const: constant }),
);

// The validator passes over a property __proto__, which has a test of its own, and calls those of COMPARED_BY where it compares.
const NAMES = ['a', 'b', 'hasOwnProperty', 'constructor'];
const schema = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom(...NAMES), tie('any'), { noNullPrototype: true }),
        required: fc.uniqueArray(fc.constantFrom(...NAMES)),
        additionalProperties: fc.oneof(fc.boolean(), tie('any')),
        maxProperties: fc.nat(4),
      },
      { requiredKeys: [], noNullPrototype: true },
    ) as fc.Arbitrary<Json>,
    fc.record(
      { items: tie('any'), minItems: fc.nat(3), maxItems: fc.nat(3), uniqueItems: fc.boolean() },
      { requiredKeys: ['items'], noNullPrototype: true },
    ) as fc.Arbitrary<Json>,
    fc.record({ anyOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }), title: fc.string() }),
    fc.record({ allOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
  ),
})).any;

test('a sample satisfies its schema, whatever that is', () => {
  let satisfied = 0;
  fc.assert(
    fc.property(schema, fc.string({ unit: 'grapheme' }), (given, text) => {
      const sample = trySample(given, text);
      if (sample === undefined) return;
      satisfied += 1;
      const validate = ajv.compile(given as object);
      if (!validate(sample.value))
        throw new Error(`${JSON.stringify(sample.value)}: ${ajv.errorsText(validate.errors)}`);
    }),
    { numRuns: 500 },
  );
  // A maker that refused everything would satisfy as well.
  expect(satisfied).toBeGreaterThan(100);
});

describe('a schema as SDKs write it has a sample', () => {
  const cases: Record<string, [Json, unknown]> = {
    'of pydantic, with references': [
      {
        title: 'Plan',
        type: 'object',
        required: ['step', 'notes', 'tags', 'at'],
        properties: {
          step: { $ref: '#/$defs/Step' },
          notes: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'Notes' },
          tags: { items: { type: 'string' }, title: 'Tags', type: 'array' },
          at: { format: 'date-time', type: 'string' },
          ignored: { type: 'string' },
        },
        $defs: { Step: { properties: { n: { const: 3 } }, required: ['n'], type: 'object' } },
      },
      { step: { n: 3 }, notes: 'text', tags: [], at: '1970-01-01T00:00:00Z' },
    ],
    'that refers to itself where it need not': [
      { type: 'object', required: ['v'], properties: { v: { type: 'number' }, next: { $ref: '#' } } },
      { v: 0 },
    ],
    'that says nothing': [{}, 'text'],
  };
  for (const [name, [given, expected]] of Object.entries(cases))
    test(name, () => expect(trySample(given, 'text')?.value).toEqual(expected));
});

test('a property may have any name', () => {
  const named = JSON.parse('{"required":["__proto__"],"properties":{"__proto__":{"const":3}}}') as Json;
  expect(JSON.stringify(sampleOf(named, 'text'))).toBe('{"__proto__":3}');
});

describe('a schema has no sample', () => {
  const nested = (depth: number): Json =>
    Array.from({ length: depth }).reduce<Json>((inner) => ({ type: 'array', minItems: 1, items: inner }), {});
  const doubling: Json = {
    $defs: Object.fromEntries(
      Array.from({ length: 30 }, (_, index): [string, Json] => [
        `d${index}`,
        { type: 'array', minItems: 2, items: { $ref: `#/$defs/d${index + 1}` } },
      ]),
    ),
    $ref: '#/$defs/d0',
  };
  const cases: Record<string, Json> = {
    'that nothing satisfies': false,
    'with a keyword that is not understood': { type: 'string', pattern: '^a$' },
    'with a format that is not known': { type: 'string', format: 'color' },
    'that is no schema': 5,
    'of a type that there is not': { type: 'banana' },
    'whose reference leads nowhere': { $ref: '#/$defs/x' },
    'whose reference leads elsewhere': { $ref: 'https://example.com/schema' },
    'that never ends': { type: 'object', required: ['a'], properties: { a: { $ref: '#' } } },
    'that refers to itself': { $ref: '#' },
    'whose value doubles': doubling,
    'that is nested too deeply': nested(1000),
    'of a text too long': { type: 'string', minLength: 1e9 },
    'of too many items': { type: 'array', minItems: 1e9, items: { const: 1 } },
    'whose value is long, and often there': {
      type: 'array',
      minItems: 1e4,
      items: { const: 'x'.repeat(1e4) },
    },
  };
  for (const [name, given] of Object.entries(cases))
    test(name, () => expect(trySample(given)).toBeUndefined());
});
