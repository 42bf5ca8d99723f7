// Rows and packs give back what was put in, and nothing of what was cut off.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeRow, encodeRow, readPack, toPack, type UsageEvent } from '../../src/usage/row.ts';

const text = fc.string({ unit: 'binary' }).map((each) => each.toWellFormed());
const event: fc.Arbitrary<UsageEvent> = fc.record({
  id: fc.uuid(),
  workspaceId: text,
  eventId: text,
  source: text,
  type: text,
  subject: text,
  timeMicroseconds: fc.bigInt({ min: 0n, max: BigInt(Date.UTC(9999, 11, 31)) * 1000n }),
  data: fc.json(),
  extensions: fc.option(fc.json()),
  value: fc.option(fc.integer().map(String)),
});

test('a row decodes to the event that it was made of', () => {
  fc.assert(fc.property(event, (each) => expect(decodeRow(encodeRow(each))).toEqual(each)));
});

test('rows behind one another are told apart, and a row that was cut off is none', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 10 }), fc.nat(), (events, cut) => {
      const rows = events.map(encodeRow);
      const end = cut % Buffer.concat(rows).length;
      const whole = rows.reduce(
        ({ count, size }, row) =>
          size + row.length <= end
            ? { count: count + 1, size: size + row.length }
            : { count, size: Infinity },
        { count: 0, size: 0 },
      );
      const pack = toPack([Buffer.concat(rows).subarray(0, end)]);
      expect(readPack(pack).rows.length).toBe(whole.count);
    }),
  );
});

test('a pack gives back its rows, large or small', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      expect(readPack(toPack(events.map(encodeRow))).rows.map(decodeRow)).toEqual(events);
    }),
  );
});

test('what is no pack of this version is refused, not guessed', () => {
  const pack = toPack([Buffer.from('x')]);
  expect(() => readPack(pack.subarray(0, 4))).toThrow('not a pack');
  for (const [place, value] of [
    [0, 2],
    [1, 9],
  ] as const) {
    const other = Buffer.from(pack);
    other[place] = value;
    expect(() => readPack(other)).toThrow('not a pack');
  }
});
