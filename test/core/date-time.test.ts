import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseDateTime } from '../../src/core/date-time.ts';

test.each([
  ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['2026-11-20T10:30', '2026-11-20T10:30:00.000Z'],
  ['2026-11-20 10:30:15', '2026-11-20T10:30:15.000Z'],
  ['2026-11-20T10:30:15.1Z', '2026-11-20T10:30:15.100Z'],
  ['2026-11-20T10:30:15.123456789Z', '2026-11-20T10:30:15.123Z'],
  ['2026-11-20T10:30:15+02:00', '2026-11-20T08:30:15.000Z'],
  ['2026-11-20T10:30:15-0530', '2026-11-20T16:00:15.000Z'],
  ['2026-11-20 10:30:15 +01', '2026-11-20T09:30:15.000Z'],
  ['2024-02-29t23:59:59z', '2024-02-29T23:59:59.000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
])('%s is %s', (text, expected) => {
  expect(parseDateTime(text)?.toISOString()).toBe(expected);
});

test.each([
  '',
  'soon',
  '2026',
  '2026-11',
  '2026-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-11-20T24:00:00Z',
  '2026-11-20T10:60:00Z',
  '2026-11-20T10:30:60Z',
  '2026-11-20T10:30:15+24:00',
  '2026-11-20T',
  'Fri, 20 Nov 2026 10:30:15 GMT',
  '1795170615',
  ' 2026-11-20',
])('%j is no date', (text) => {
  expect(parseDateTime(text)).toBeUndefined();
});

test('every instant that is written as ISO 8601 is read as itself', () => {
  const years = {
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  };
  fc.assert(fc.property(fc.date(years), (date) => expect(parseDateTime(date.toISOString())).toEqual(date)));
});
