// Pages, windows and cursors, held against the plain list that they are cut from.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bucketsOf } from '../../src/core/time-buckets.ts';
import {
  cursorsAround,
  FIRST_PAGE,
  type PageCursor,
  type Position,
  parseCursor,
  renderCursor,
  type TimeWindow,
} from '../../src/usage/cursor.ts';

const positionAt = (position: number): Position => ({
  createdAtMs: position,
  id: '00000000-0000-7000-8000-000000000000',
});

/** What the store answers, from a list of positions. */
function read(list: readonly number[], cursor: PageCursor, size: number) {
  const at = cursor.position?.createdAtMs;
  const fits = (position: number): boolean => {
    if (at === undefined || (cursor.inclusive && position === at)) return true;
    return cursor.backwards ? position < at : position > at;
  };
  const rest = list.filter(fits);
  const taken = cursor.backwards ? rest.slice(-(size + 1)) : rest.slice(0, size + 1);
  const more = taken.length > size;
  const page = cursor.backwards ? taken.slice(more ? 1 : 0) : taken.slice(0, size);
  const beyond = more ? (cursor.backwards ? taken[0] : taken.at(-1)) : undefined;
  return {
    page,
    cursors: cursorsAround(cursor, {
      positions: page.map(positionAt),
      beyond: beyond === undefined ? undefined : positionAt(beyond),
    }),
  };
}

const lists = fc.uniqueArray(fc.nat(1000), { maxLength: 40 }).map((list) => list.toSorted((a, b) => a - b));

test('walks in both directions meet every row once, in order, from wherever they begin', () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 9 }), (list, size) => {
      const forwards: number[] = [];
      let last = FIRST_PAGE;
      for (let cursor: PageCursor | undefined = FIRST_PAGE; cursor !== undefined; ) {
        const { page, cursors } = read(list, cursor, size);
        forwards.push(...page);
        last = cursors.currentBackwards;
        cursor = cursors.next;
      }
      expect(forwards).toEqual(list);
      const backwards: number[] = [];
      for (let cursor: PageCursor | undefined = last; cursor !== undefined; ) {
        const { page, cursors } = read(list, cursor, size);
        backwards.unshift(...page);
        cursor = cursors.previous;
      }
      expect(backwards).toEqual(list);
    }),
  );
});

test('there and back again is the same position, after rows have gone as well', () => {
  fc.assert(
    fc.property(lists, lists, fc.integer({ min: 1, max: 9 }), fc.nat(5), (list, gone, size, steps) => {
      let cursor: PageCursor = FIRST_PAGE;
      for (let step = 0; step < steps; step++) cursor = read(list, cursor, size).cursors.next ?? cursor;
      const left = list.filter((position) => !gone.includes(position));
      const here = read(left, cursor, size);
      if (here.cursors.next !== undefined) {
        const there = read(left, here.cursors.next, size);
        expect(there.cursors.previous).toBeDefined();
        const back = read(left, there.cursors.previous ?? FIRST_PAGE, size);
        expect(back.page).toEqual(
          left.filter((position) => position <= (here.page.at(-1) ?? 0)).slice(-size),
        );
      }
      if (cursor.position !== undefined && here.page.length === 0) {
        // An empty page at the end: the page before ends with the last row that is left.
        const before = read(left, here.cursors.previous ?? FIRST_PAGE, size);
        expect(before.page).toEqual(left.slice(-size));
      }
    }),
  );
});

test('the pieces of a window cover it exactly, and are few', () => {
  const DAY = 86_400_000;
  const time = fc.integer({ min: 0, max: 20 * DAY });
  fc.assert(
    fc.property(fc.option(time, { nil: undefined }), fc.option(time, { nil: undefined }), (from, until) => {
      const pieces = bucketsOf(from, until, [86_400, 60, 0]);
      let at = from;
      for (const piece of pieces) {
        expect(piece.from).toBe(at);
        const size = Math.max(1, piece.grain * 1000);
        for (const bound of [piece.from, piece.until]) if (bound !== undefined) expect(bound % size).toBe(0);
        at = piece.until;
      }
      if (from === undefined || until === undefined || from < until) expect(at).toBe(until);
      else expect(pieces).toEqual([]);
      expect(pieces.length).toBeLessThanOrEqual(5);
    }),
  );
});

test('a cursor is good for its workspace and window, and for no other', () => {
  const secret = Buffer.from('secret');
  const cursor: fc.Arbitrary<PageCursor> = fc.record({
    backwards: fc.boolean(),
    inclusive: fc.boolean(),
    position: fc.option(fc.record({ createdAtMs: fc.nat(), id: fc.uuid() }), { nil: undefined }),
  });
  const bound = fc.option(fc.nat(), { nil: undefined });
  const window: fc.Arbitrary<TimeWindow> = fc.record({ workspaceId: fc.string(), from: bound, to: bound });
  fc.assert(
    fc.property(cursor, window, window, fc.string(), (given, own, other, noise) => {
      const cursor = renderCursor(secret, own, given);
      expect(parseCursor(secret, own, cursor)).toEqual(given);
      const refused = (text: string, position: TimeWindow, key = secret) =>
        expect(() => parseCursor(key, position, text)).toThrow('Invalid cursor value');
      if (!Bun.deepEquals(own, other)) refused(cursor, other);
      refused(cursor, { ...own, workspaceId: `${own.workspaceId}x` });
      refused(cursor, { ...own, from: (own.from ?? -1) + 1 });
      refused(cursor, { ...own, to: (own.to ?? -1) + 1 });
      refused(cursor, own, Buffer.from('another'));
      refused(noise, own);
      refused(cursor.slice(0, -2), own);
      refused(`${cursor}AA`, own);
      // Of another version.
      refused(`AQ${cursor.slice(2)}`, own);
      refused(`Aw${cursor.slice(2)}`, own);
    }),
  );
});
