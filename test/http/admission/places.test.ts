// Places of a class of work: bounded, in order, and shared between workspaces and keys.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPlaces, type Place, type Waiting } from '../../../src/http/admission/places.ts';

const asker = (workspaceId: string, keyId = 'key') => ({ workspaceId, keyId });

type Joined = { entry: Waiting; outcome: string | undefined };

function entryAt(sinceMs: number): Joined {
  const joined: Joined = {
    outcome: undefined,
    entry: {
      sinceMs,
      enter() {
        joined.outcome = 'entered';
      },
      refuse(reason) {
        joined.outcome = reason;
      },
    },
  };
  return joined;
}

test('a place is had at once while there are some, and nobody waits', () => {
  const places = createPlaces({ total: 2, ofWorkspace: 2, waiting: 10, patienceMs: 500 });
  const first = places.take(asker('one'));
  expect(places.take(asker('other'))).toBeDefined();
  expect(places.take(asker('other'))).toBeUndefined();
  const waiting = entryAt(0);
  places.join(asker('one'), waiting.entry);
  expect(places.canEnter()).toBe(false);
  places.leave(first as Place);
  // Whoever comes now is behind the one that waits.
  expect(places.take(asker('new'))).toBeUndefined();
  expect(places.next(0)?.entry).toBe(waiting.entry);
  expect([places.running(), places.waiting()]).toEqual([2, 0]);
});

test('a workspace leaves places to others, and its keys share what it has', () => {
  const places = createPlaces({ total: 8, ofWorkspace: 7, waiting: 100, patienceMs: 500 });
  for (let at = 0; at < 7; at++) expect(places.take(asker('noisy', 'loud'))).toBeDefined();
  expect(places.take(asker('noisy', 'loud'))).toBeUndefined();
  const quiet = places.take(asker('quiet'));
  expect(quiet).toBeDefined();
  for (let at = 0; at < 5; at++) places.join(asker('noisy', 'loud'), entryAt(at).entry);
  const modest = entryAt(9);
  places.join(asker('noisy', 'modest'), modest.entry);
  // All its places are taken, though one of all is free.
  places.leave(quiet as Place);
  expect(places.next(9)).toBeUndefined();
});

test('the next place is for the workspace, and there the key, that has least', () => {
  const places = createPlaces({ total: 4, ofWorkspace: 4, waiting: 100, patienceMs: 500 });
  const held = ['noisy', 'noisy', 'noisy', 'quiet'].map((id) => places.take(asker(id, 'loud')) as Place);
  for (const key of ['loud', 'loud', 'modest']) places.join(asker('noisy', key), entryAt(0).entry);
  const late = entryAt(50);
  places.join(asker('quiet'), late.entry);
  places.leave(held[0] as Place);
  expect(places.next(50)?.entry).toBe(late.entry);
  places.leave(held[1] as Place);
  // Of the two keys of the noisy one, the one that runs nothing.
  expect(places.next(50)?.place.line).toHaveLength(0);
  places.leave(held[2] as Place);
  expect(places.next(50)?.place.line).toHaveLength(1);
});

test('a full line refuses the last one of whoever has most of it', () => {
  const places = createPlaces({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  places.take(asker('any'));
  const [first, second, third, quiet] = [0, 1, 2, 3].map(entryAt) as [Joined, Joined, Joined, Joined];
  for (const { entry } of [first, second, third]) places.join(asker('noisy'), entry);
  places.join(asker('quiet'), quiet.entry);
  expect([first, second, third, quiet].map(({ outcome }) => outcome)).toEqual([
    undefined,
    undefined,
    'crowded',
    undefined,
  ]);
});

test('what has waited since before is refused, and the rest stays in order', () => {
  const places = createPlaces({ total: 1, ofWorkspace: 1, waiting: 10, patienceMs: 500 });
  const held = places.take(asker('any')) as Place;
  const joined = [10, 20, 30].map(entryAt);
  for (const { entry } of joined) places.join(asker('one'), entry);
  places.refuseSince(20, 'late');
  expect(joined.map(({ outcome }) => outcome)).toEqual(['late', 'late', undefined]);
  places.leave(held);
  expect(places.next(30)?.entry.sinceMs).toBe(30);
  expect(places.waiting()).toBe(0);
});

test('a line whose first has waited for long serves its newest first, and refuses its oldest when it is full', () => {
  const places = createPlaces({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  const waits = [0, 100, 400].map(entryAt);
  const held = places.take(asker('any')) as Place;
  for (const { entry } of waits) places.join(asker('one'), entry);
  const newest = entryAt(501);
  places.join(asker('one'), newest.entry);
  expect([...waits, newest].map(({ outcome }) => outcome)).toEqual([
    'crowded',
    undefined,
    undefined,
    undefined,
  ]);
  places.leave(held);
  const served = [601, 602, 603].map((nowMs) => {
    const next = places.next(nowMs) as { place: Place; entry: Waiting };
    places.leave(next.place);
    return next.entry.sinceMs;
  });
  // The first of those left has waited for 501 ms, for 502 and, alone, for 503.
  expect(served).toEqual([501, 400, 100]);
});

test('a line that is young is served in order', () => {
  const places = createPlaces({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  const held = places.take(asker('any')) as Place;
  for (const { entry } of [0, 100, 400].map(entryAt)) places.join(asker('one'), entry);
  places.leave(held);
  expect(places.next(500)?.entry.sinceMs).toBe(0);
});

/** Any sequence of arrivals, ends and time-outs. */
const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), workspace: fc.nat(3), key: fc.nat(2) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), age: fc.nat(20) }) },
);

test('whatever comes, no bound is broken, nobody is forgotten, and nobody gets two places more than another who waits', () => {
  const bounds = { total: 6, ofWorkspace: 5, waiting: 8, patienceMs: 10 };
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      const places = createPlaces(bounds);
      const held: { place: Place; workspace: string }[] = [];
      const line = new Map<Waiting, { joined: Joined; workspace: string }>();
      const runningOf = (workspace: string) => held.filter((each) => each.workspace === workspace).length;
      const settle = (nowMs: number) => {
        for (const [entry, { joined }] of line) if (joined.outcome !== undefined) line.delete(entry);
        for (let next = places.next(nowMs); next !== undefined; next = places.next(nowMs)) {
          const { workspace } = line.get(next.entry) as { workspace: string };
          for (const other of new Set([...line.values()].map((each) => each.workspace)))
            expect(runningOf(workspace)).toBeLessThanOrEqual(runningOf(other));
          line.delete(next.entry);
          held.push({ place: next.place, workspace });
        }
        expect([places.running(), places.waiting()]).toEqual([held.length, line.size]);
        expect(held.length).toBeLessThanOrEqual(bounds.total);
        expect(line.size).toBeLessThanOrEqual(bounds.waiting);
        for (const { workspace } of held)
          expect(runningOf(workspace)).toBeLessThanOrEqual(bounds.ofWorkspace);
        // No place is empty that somebody in line could have.
        for (const { workspace } of line.values())
          expect(held.length === bounds.total || runningOf(workspace) === bounds.ofWorkspace).toBe(true);
      };
      for (const [now, each] of actions.entries()) {
        if (each.kind === 'leave') {
          const [left] = held.splice(each.which % Math.max(1, held.length), 1);
          if (left !== undefined) places.leave(left.place);
        } else if (each.kind === 'expire') places.refuseSince(now - each.age, 'late');
        else {
          const workspace = `w${each.workspace}`;
          const place = places.take(asker(workspace, `k${each.key}`));
          if (place !== undefined) held.push({ place, workspace });
          else {
            const joined = entryAt(now);
            line.set(joined.entry, { joined, workspace });
            places.join(asker(workspace, `k${each.key}`), joined.entry);
          }
        }
        settle(now);
      }
      for (const { place } of held) places.leave(place);
      held.length = 0;
      while (line.size > 0) {
        settle(actions.length);
        for (const { place } of held) places.leave(place);
        held.length = 0;
      }
      expect([places.running(), places.waiting()]).toEqual([0, 0]);
    }),
    { numRuns: 500 },
  );
});
