// The language of filters: what each text means, and exactly what is said of a text that means nothing.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Filter } from '../../../src/documents/filter/ast.ts';
import { ATTRIBUTES, type Attribute, OPERATORS } from '../../../src/documents/filter/attributes.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { distinctOrder, parseOrder } from '../../../src/documents/filter/order.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { statusWordsUnder } from '../../../src/documents/filter/status.ts';

const NAMES = Object.keys(ATTRIBUTES) as Attribute[];

const parse = (attribute: Attribute, text: string) => parseFilter(attribute, text, ['query', attribute, 3]);

/** The text of a filter, its operator written out: parsed again it gives the same filter. */
const renderFilter = ({ operator, key, operand }: Filter): string =>
  `${operator}:${key === undefined ? '' : `${key}->`}${operand.text}`;

function filterOf(attribute: Attribute, text: string): Filter {
  const parsed = parse(attribute, text);
  if ('mistake' in parsed) throw new Error(parsed.mistake.msg);
  return parsed.value;
}

const text = (value: string) => ({ kind: 'text', text: value });

describe('a filter', () => {
  test.each([
    ['name', 'report', { operator: 'contains', operand: text('report') }],
    ['name', 'eq:Report', { operator: 'eq', operand: text('Report') }],
    ['name', 'eq', { operator: 'contains', operand: text('eq') }],
    ['name', 'eq:->x', { operator: 'eq', operand: text('->x') }],
    ['name', 'in:a,,b', { operator: 'in', operand: { kind: 'list', text: 'a,,b', items: ['a', '', 'b'] } }],
    ['name', 'contains:a,b', { operator: 'contains', operand: text('a,b') }],
    ['slots', 'eq:Dept->x->y', { operator: 'eq', key: 'Dept', operand: text('x->y') }],
    ['slots', 'eq:->x', { operator: 'eq', key: '', operand: text('x') }],
    ['slots', 'x', { operator: 'contains', operand: text('x') }],
    [
      'slots',
      'is_empty:k->true',
      { operator: 'is_empty', key: 'k', operand: { kind: 'truth', text: 'true', truth: true } },
    ],
    ['tags', 'a,b', { operator: 'any', operand: { kind: 'list', text: 'a,b', items: ['a', 'b'] } }],
    [
      'tags',
      'is__not_empty:No',
      { operator: 'is__not_empty', operand: { kind: 'truth', text: 'No', truth: false } },
    ],
    ['file_size', 'gte: 12 ', { operator: 'gte', operand: { kind: 'size', text: ' 12 ', size: 12 } }],
    [
      'file_size',
      'lt:99999999999999999999',
      {
        operator: 'lt',
        operand: { kind: 'size', text: '99999999999999999999', size: Number.MAX_SAFE_INTEGER },
      },
    ],
    ['id', 'x', { operator: 'eq', operand: text('x') }],
  ] as const)('%s=%s', (attribute, written, expected) => {
    expect(filterOf(attribute, written)).toEqual({ attribute, ...expected } as unknown as Filter);
  });

  test.each([
    ['2024-05-06', '2024-05-06T00:00:00.000Z'],
    ['gt:2024-05-06T07:08:09', '2024-05-06T07:08:09.000Z'],
    ['lte:2024-05-06T07:08:09.123Z', '2024-05-06T07:08:09.123Z'],
    ['eq:2024-05-06T07:08:09+02:00', '2024-05-06T05:08:09.000Z'],
    ['eq:2024-05-06T07:08:09 02:00', '2024-05-06T05:08:09.000Z'],
    ['eq:2024-05-06 07:08', '2024-05-06T07:08:00.000Z'],
    ['neq:2024-05-06T07:08:09-0230', '2024-05-06T09:38:09.000Z'],
  ])('created_at=%s', (written, at) => {
    expect(filterOf('created_at', written).operand).toMatchObject({ kind: 'moment', at: new Date(at) });
  });
});

const TEXT = 'eq|neq|contains|not_contains|starts_with|ends_with|is_empty|is_not_empty|in|not_in';
const PATTERNS: [Attribute, string, string][] = [
  ['name', '', `^((${TEXT}):)?[^:]+$`],
  ['name', 'eq:', `^((${TEXT}):)?[^:]+$`],
  ['name', ':', `^((${TEXT}):)?[^:]+$`],
  ['name', 'eq:a:b', `^((${TEXT}):)?[^:]+$`],
  ['name', 'like:a', `^((${TEXT}):)?[^:]+$`],
  ['name', 'gt:a', `^((${TEXT}):)?[^:]+$`],
  ['slots', 'eq:k->', `^((${TEXT}|any|not_any):)?([^:]*->)?[^:]+$`],
  ['slots', 'eq:k->a:b', `^((${TEXT}|any|not_any):)?([^:]*->)?[^:]+$`],
  ['access', 'eq:a:b->c', `^((${TEXT}|any|not_any):)?([^:]*->)?[^:]+$`],
  ['tags', 'contains:a', '^((any|not_any|is_empty|is_not_empty|is__not_empty):)?[^:]+$'],
  ['created_at', '', '^((eq|neq|gt|lt|gte|lte|is_empty|is_not_empty):)?.+$'],
  ['created_at', 'contains:2024', '^((eq|neq|gt|lt|gte|lte|is_empty|is_not_empty):)?.+$'],
  ['file_size', 'gt:1:2', '^((eq|neq|gt|lt|gte|lte|is_empty|is_not_empty):)?[^:]+$'],
  ['id', 'contains:a', '^((eq|neq|is_empty|is_not_empty|in|not_in):)?[^:]+$'],
];

describe('a text that is no filter', () => {
  test.each(PATTERNS)('%s=%s', (attribute, input, pattern) => {
    expect(parse(attribute, input)).toEqual({
      mistake: {
        type: 'string_pattern_mismatch',
        loc: ['query', attribute, 3],
        msg: `String should match pattern '${pattern}'`,
        input,
        ctx: { pattern },
      },
    });
  });

  test('storage_url with its scheme, which the message says to leave out', () => {
    const pattern = `^((${TEXT}):)?[^:]+$`;
    const msg = `String should match pattern '${pattern}'; a value holds no colon: leave out the scheme 's3://'`;
    expect(parse('storage_url', 'eq:s3://bucket/key')).toMatchObject({ mistake: { msg, ctx: { pattern } } });
  });

  test.each([
    [
      'file_size',
      'gt:abc',
      'int_parsing',
      'Input should be a valid integer, unable to parse string as an integer',
      'abc',
    ],
    [
      'file_size',
      '1.5',
      'int_parsing',
      'Input should be a valid integer, unable to parse string as an integer',
      '1.5',
    ],
    [
      'file_size',
      'is_empty:maybe',
      'bool_parsing',
      'Input should be a valid boolean, unable to interpret input',
      'maybe',
    ],
    [
      'slots',
      'is_empty:k->2',
      'bool_parsing',
      'Input should be a valid boolean, unable to interpret input',
      '2',
    ],
    [
      'created_at',
      'soon',
      'datetime_parsing',
      'Input should be a valid datetime, expected an ISO 8601 date and time',
      'soon',
    ],
    [
      'created_at',
      'gt:2024-02-30',
      'datetime_parsing',
      'Input should be a valid datetime, expected an ISO 8601 date and time',
      '2024-02-30',
    ],
    [
      'created_at',
      'gt:0000-01-01',
      'datetime_parsing',
      'Input should be a valid datetime, expected an ISO 8601 date and time',
      '0000-01-01',
    ],
    [
      'created_at',
      'like:2024-01-01',
      'datetime_parsing',
      'Input should be a valid datetime, expected an ISO 8601 date and time',
      'like:2024-01-01',
    ],
  ] as const)('%s=%s', (attribute, written, type, msg, input) => {
    expect(parse(attribute, written)).toMatchObject({
      mistake: { type, loc: ['query', attribute, 3], msg, input },
    });
  });
});

const attribute = fc.constantFrom(...NAMES);
const syntax = fc.constantFrom(
  ...OPERATORS,
  ':',
  '->',
  ',',
  "'",
  '"',
  '\\',
  '%',
  '_',
  ' AND ',
  '.*',
  '$1',
  'true',
  '7',
  '2024-01-01',
  ' ',
);
const piece = fc.oneof(syntax, fc.string({ unit: 'grapheme', maxLength: 4 }));
const anything = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));

test('any text is a filter or one mistake, and a filter printed and read again is the same', () => {
  fc.assert(
    fc.property(attribute, anything, (name, written) => {
      const parsed = parse(name, written);
      if ('mistake' in parsed) {
        expect(parsed.mistake.loc).toEqual(['query', name, 3]);
        return;
      }
      const printed = renderFilter(parsed.value);
      expect([written, `${ATTRIBUTES[name].fallback}:${written}`]).toContain(printed);
      expect(filterOf(name, printed)).toEqual(parsed.value);
    }),
    { numRuns: 5000 },
  );
});

test('what stands in a value stays a value', () => {
  fc.assert(
    fc.property(
      anything.filter((value) => value !== '' && !value.includes(':')),
      (value) => {
        expect(filterOf('name', `eq:${value}`).operand).toEqual({ kind: 'text', text: value });
        expect(toPredicate(filterOf('name', `contains:${value}`))).toEqual({
          attribute: 'name',
          negated: false,
          test: { kind: 'contains', value: value.trim().normalize('NFKD').toLowerCase() },
        });
      },
    ),
    { numRuns: 2000 },
  );
});

test('negation and emptiness are said once', () => {
  const negated = (name: Attribute, written: string) => {
    const predicate = toPredicate(filterOf(name, written));
    return [predicate.negated, predicate.test.kind];
  };
  expect(negated('tags', 'not_any:a')).toEqual([true, 'one-of']);
  expect(negated('name', 'neq:a')).toEqual([true, 'one-of']);
  expect(negated('name', 'not_contains:a')).toEqual([true, 'contains']);
  expect(negated('name', 'is_empty:true')).toEqual([false, 'empty']);
  expect(negated('name', 'is_empty:false')).toEqual([true, 'empty']);
  expect(negated('tags', 'is__not_empty:true')).toEqual([true, 'empty']);
  expect(negated('tags', 'is_not_empty:false')).toEqual([false, 'empty']);
});

test('binned documents are found only where their word passes a positive test', () => {
  const words = (...texts: string[]) =>
    statusWordsUnder(texts.map((each) => toPredicate(filterOf('status', each))));
  expect(words()).toEqual(['public', 'private']);
  expect(words('eq:deleted')).toEqual(['deleted']);
  expect(words('in:public,Deleted')).toEqual(['public', 'deleted']);
  expect(words('del')).toEqual(['deleted']);
  expect(words('neq:public')).toEqual(['private']);
  expect(words('not_contains:x')).toEqual(['public', 'private']);
  expect(words('is_not_empty:true')).toEqual(['public', 'private']);
  expect(words('in:public,deleted', 'neq:deleted')).toEqual(['public']);
  expect(words('e')).toEqual(['private', 'deleted']);
});

describe('order_by', () => {
  const order = (written: string) => parseOrder(written, ['query', 'order_by', 0]);
  test.each([
    ['name', 'name', false],
    ['name ASC', 'name', false],
    ['  created_at   desc ', 'created_at', true],
    ['file_size DESC', 'file_size', true],
  ])('%s', (written, name, descending) => {
    expect(order(written)).toEqual({ value: { attribute: name, descending } } as never);
  });

  test.each(['size', 'tags', 'slots', '', 'name DOWN', 'name ASC DESC', 'Name'])('refuses %p', (written) => {
    expect(order(written)).toMatchObject({
      mistake: { type: 'value_error', loc: ['query', 'order_by', 0], input: written },
    });
  });

  test('names what is unknown and what is known', () => {
    const error =
      "unknown attribute 'nmae'; a page can be ordered by name, owner_id, storage_url, file_hash, file_type, status, " +
      'summary, created_at, file_size, id';
    expect(order('nmae DESC')).toEqual({
      mistake: {
        type: 'value_error',
        loc: ['query', 'order_by', 0],
        msg: `Value error, ${error}`,
        input: 'nmae DESC',
        ctx: { error },
      },
    });
  });

  test('of an attribute named twice the first counts', () => {
    expect(
      distinctOrder([
        { attribute: 'name', descending: true },
        { attribute: 'id', descending: false },
        { attribute: 'name', descending: false },
      ]),
    ).toEqual([
      { attribute: 'name', descending: true },
      { attribute: 'id', descending: false },
    ]);
  });
});
