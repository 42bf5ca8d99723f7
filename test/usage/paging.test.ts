// Pages, windows and cursors, held against the plain list that they are cut from.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseCursor, renderCursor, type Window } from '../../src/usage/cursor.ts';
import { FIRST_PAGE, type Place, type Turn, turnsAround } from '../../src/usage/page.ts';
import { piecesOf } from '../../src/usage/time-buckets.ts';

const placeAt = (position: number): Place => ({
  createdAtMs: position,
  id: '00000000-0000-7000-8000-000000000000',
});

/** What the store answers, from a list of positions. */
function read(list: readonly number[], turn: Turn, size: number) {
  const at = turn.place?.createdAtMs;
  const fits = (position: number): boolean => {
    if (at === undefined || (turn.inclusive && position === at)) return true;
    return turn.backwards ? position < at : position > at;
  };
  const rest = list.filter(fits);
  const taken = turn.backwards ? rest.slice(-(size + 1)) : rest.slice(0, size + 1);
  const more = taken.length > size;
  const page = turn.backwards ? taken.slice(more ? 1 : 0) : taken.slice(0, size);
  const beyond = more ? (turn.backwards ? taken[0] : taken.at(-1)) : undefined;
  return {
    page,
    turns: turnsAround(turn, {
      places: page.map(placeAt),
      beyond: beyond === undefined ? undefined : placeAt(beyond),
    }),
  };
}

const lists = fc.uniqueArray(fc.nat(1000), { maxLength: 40 }).map((list) => list.toSorted((a, b) => a - b));

test('walks in both directions meet every row once, in order, from wherever they begin', () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 9 }), (list, size) => {
      const forwards: number[] = [];
      let last = FIRST_PAGE;
      for (let turn: Turn | undefined = FIRST_PAGE; turn !== undefined; ) {
        const { page, turns } = read(list, turn, size);
        forwards.push(...page);
        last = turns.currentBackwards;
        turn = turns.next;
      }
      expect(forwards).toEqual(list);
      const backwards: number[] = [];
      for (let turn: Turn | undefined = last; turn !== undefined; ) {
        const { page, turns } = read(list, turn, size);
        backwards.unshift(...page);
        turn = turns.previous;
      }
      expect(backwards).toEqual(list);
    }),
  );
});

test('there and back again is the same place, after rows have gone as well', () => {
  fc.assert(
    fc.property(lists, lists, fc.integer({ min: 1, max: 9 }), fc.nat(5), (list, gone, size, steps) => {
      let turn: Turn = FIRST_PAGE;
      for (let step = 0; step < steps; step++) turn = read(list, turn, size).turns.next ?? turn;
      const left = list.filter((position) => !gone.includes(position));
      const here = read(left, turn, size);
      if (here.turns.next !== undefined) {
        const there = read(left, here.turns.next, size);
        expect(there.turns.previous).toBeDefined();
        const back = read(left, there.turns.previous ?? FIRST_PAGE, size);
        expect(back.page).toEqual(
          left.filter((position) => position <= (here.page.at(-1) ?? 0)).slice(-size),
        );
      }
      if (turn.place !== undefined && here.page.length === 0) {
        // An empty page at the end: the page before ends with the last row that is left.
        const before = read(left, here.turns.previous ?? FIRST_PAGE, size);
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
      const pieces = piecesOf(from, until);
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

test('a cursor of the version before is good for its window, too', () => {
  // Made by that version: the secret `secret`, no bounds, the workspace acme, forwards from a place.
  const window = { workspaceId: 'acme', from: undefined, to: 10 };
  const cursor = 'AQYAAAGLz-VoAAGcE6VtK3xOjxorPE1eb3DHKTPwaAKaGfss5XI';
  expect(parseCursor(Buffer.from('secret'), window, cursor)).toEqual({
    backwards: false,
    inclusive: true,
    place: { createdAtMs: 1_700_000_000_000, id: '019c13a5-6d2b-7c4e-8f1a-2b3c4d5e6f70' },
  });
  expect(() => parseCursor(Buffer.from('secret'), { ...window, to: 11 }, cursor)).toThrow(
    'Invalid cursor value',
  );
});

test('a cursor is good for its workspace and window, and for no other', () => {
  const secret = Buffer.from('secret');
  const turn: fc.Arbitrary<Turn> = fc.record({
    backwards: fc.boolean(),
    inclusive: fc.boolean(),
    place: fc.option(fc.record({ createdAtMs: fc.nat(), id: fc.uuid() }), { nil: undefined }),
  });
  const bound = fc.option(fc.nat(), { nil: undefined });
  const window: fc.Arbitrary<Window> = fc.record({ workspaceId: fc.string(), from: bound, to: bound });
  fc.assert(
    fc.property(turn, window, window, fc.string(), (given, own, other, noise) => {
      const cursor = renderCursor(secret, own, given);
      expect(parseCursor(secret, own, cursor)).toEqual(given);
      const refused = (text: string, place: Window, key = secret) =>
        expect(() => parseCursor(key, place, text)).toThrow('Invalid cursor value');
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
