// Places of a class of work: bounded, in order, and shared between workspaces and keys.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  createFairSemaphore,
  type Permit,
  type Waiting,
} from '../../../src/http/admission/fair-semaphore.ts';

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

test('a permit is had at once while there are some, and nobody waits', () => {
  const permits = createFairSemaphore({ total: 2, ofWorkspace: 2, waiting: 10, patienceMs: 500 });
  const first = permits.acquire(asker('one'));
  expect(permits.acquire(asker('other'))).toBeDefined();
  expect(permits.acquire(asker('other'))).toBeUndefined();
  const waiting = entryAt(0);
  permits.enqueue(asker('one'), waiting.entry);
  expect(permits.canAcquire()).toBe(false);
  permits.release(first as Permit);
  // Whoever comes now is behind the one that waits.
  expect(permits.acquire(asker('new'))).toBeUndefined();
  expect(permits.next(0)?.entry).toBe(waiting.entry);
  expect([permits.running(), permits.waiting()]).toEqual([2, 0]);
});

test('a workspace leaves permits to others, and its keys share what it has', () => {
  const permits = createFairSemaphore({ total: 8, ofWorkspace: 7, waiting: 100, patienceMs: 500 });
  for (let at = 0; at < 7; at++) expect(permits.acquire(asker('noisy', 'loud'))).toBeDefined();
  expect(permits.acquire(asker('noisy', 'loud'))).toBeUndefined();
  const quiet = permits.acquire(asker('quiet'));
  expect(quiet).toBeDefined();
  for (let at = 0; at < 5; at++) permits.enqueue(asker('noisy', 'loud'), entryAt(at).entry);
  const modest = entryAt(9);
  permits.enqueue(asker('noisy', 'modest'), modest.entry);
  // All its permits are taken, though one of all is free.
  permits.release(quiet as Permit);
  expect(permits.next(9)).toBeUndefined();
});

test('the next permit is for the workspace, and there the key, that has least', () => {
  const permits = createFairSemaphore({ total: 4, ofWorkspace: 4, waiting: 100, patienceMs: 500 });
  const held = ['noisy', 'noisy', 'noisy', 'quiet'].map((id) => permits.acquire(asker(id, 'loud')) as Permit);
  for (const key of ['loud', 'loud', 'modest']) permits.enqueue(asker('noisy', key), entryAt(0).entry);
  const late = entryAt(50);
  permits.enqueue(asker('quiet'), late.entry);
  permits.release(held[0] as Permit);
  expect(permits.next(50)?.entry).toBe(late.entry);
  permits.release(held[1] as Permit);
  // Of the two keys of the noisy one, the one that runs nothing.
  expect(permits.next(50)?.permit.queue).toHaveLength(0);
  permits.release(held[2] as Permit);
  expect(permits.next(50)?.permit.queue).toHaveLength(1);
});

test('a full queue refuses the last one of whoever has most of it', () => {
  const permits = createFairSemaphore({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  permits.acquire(asker('any'));
  const [first, second, third, quiet] = [0, 1, 2, 3].map(entryAt) as [Joined, Joined, Joined, Joined];
  for (const { entry } of [first, second, third]) permits.enqueue(asker('noisy'), entry);
  permits.enqueue(asker('quiet'), quiet.entry);
  expect([first, second, third, quiet].map(({ outcome }) => outcome)).toEqual([
    undefined,
    undefined,
    'crowded',
    undefined,
  ]);
});

test('what has waited since before is refused, and the rest stays in order', () => {
  const permits = createFairSemaphore({ total: 1, ofWorkspace: 1, waiting: 10, patienceMs: 500 });
  const held = permits.acquire(asker('any')) as Permit;
  const joined = [10, 20, 30].map(entryAt);
  for (const { entry } of joined) permits.enqueue(asker('one'), entry);
  permits.refuseSince(20, 'late');
  expect(joined.map(({ outcome }) => outcome)).toEqual(['late', 'late', undefined]);
  permits.release(held);
  expect(permits.next(30)?.entry.sinceMs).toBe(30);
  expect(permits.waiting()).toBe(0);
});

test('a queue whose first has waited for long serves its newest first, and refuses its oldest when it is full', () => {
  const permits = createFairSemaphore({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  const waits = [0, 100, 400].map(entryAt);
  const held = permits.acquire(asker('any')) as Permit;
  for (const { entry } of waits) permits.enqueue(asker('one'), entry);
  const newest = entryAt(501);
  permits.enqueue(asker('one'), newest.entry);
  expect([...waits, newest].map(({ outcome }) => outcome)).toEqual([
    'crowded',
    undefined,
    undefined,
    undefined,
  ]);
  permits.release(held);
  const served = [601, 602, 603].map((nowMs) => {
    const next = permits.next(nowMs) as { permit: Permit; entry: Waiting };
    permits.release(next.permit);
    return next.entry.sinceMs;
  });
  // The first of those left has waited for 501 ms, for 502 and, alone, for 503.
  expect(served).toEqual([501, 400, 100]);
});

test('a queue that is young is served in order', () => {
  const permits = createFairSemaphore({ total: 1, ofWorkspace: 1, waiting: 3, patienceMs: 500 });
  const held = permits.acquire(asker('any')) as Permit;
  for (const { entry } of [0, 100, 400].map(entryAt)) permits.enqueue(asker('one'), entry);
  permits.release(held);
  expect(permits.next(500)?.entry.sinceMs).toBe(0);
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

test('whatever comes, no bound is broken, nobody is forgotten, and nobody gets two permits more than another who waits', () => {
  const bounds = { total: 6, ofWorkspace: 5, waiting: 8, patienceMs: 10 };
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      const permits = createFairSemaphore(bounds);
      const held: { permit: Permit; workspace: string }[] = [];
      const queue = new Map<Waiting, { joined: Joined; workspace: string }>();
      const runningOf = (workspace: string) => held.filter((each) => each.workspace === workspace).length;
      const settle = (nowMs: number) => {
        for (const [entry, { joined }] of queue) if (joined.outcome !== undefined) queue.delete(entry);
        for (let next = permits.next(nowMs); next !== undefined; next = permits.next(nowMs)) {
          const { workspace } = queue.get(next.entry) as { workspace: string };
          for (const other of new Set([...queue.values()].map((each) => each.workspace)))
            expect(runningOf(workspace)).toBeLessThanOrEqual(runningOf(other));
          queue.delete(next.entry);
          held.push({ permit: next.permit, workspace });
        }
        expect([permits.running(), permits.waiting()]).toEqual([held.length, queue.size]);
        expect(held.length).toBeLessThanOrEqual(bounds.total);
        expect(queue.size).toBeLessThanOrEqual(bounds.waiting);
        for (const { workspace } of held)
          expect(runningOf(workspace)).toBeLessThanOrEqual(bounds.ofWorkspace);
        // No permit is empty that somebody in the queue could have.
        for (const { workspace } of queue.values())
          expect(held.length === bounds.total || runningOf(workspace) === bounds.ofWorkspace).toBe(true);
      };
      for (const [now, each] of actions.entries()) {
        if (each.kind === 'leave') {
          const [left] = held.splice(each.which % Math.max(1, held.length), 1);
          if (left !== undefined) permits.release(left.permit);
        } else if (each.kind === 'expire') permits.refuseSince(now - each.age, 'late');
        else {
          const workspace = `w${each.workspace}`;
          const permit = permits.acquire(asker(workspace, `k${each.key}`));
          if (permit !== undefined) held.push({ permit, workspace });
          else {
            const joined = entryAt(now);
            queue.set(joined.entry, { joined, workspace });
            permits.enqueue(asker(workspace, `k${each.key}`), joined.entry);
          }
        }
        settle(now);
      }
      for (const { permit } of held) permits.release(permit);
      held.length = 0;
      while (queue.size > 0) {
        settle(actions.length);
        for (const { permit } of held) permits.release(permit);
        held.length = 0;
      }
      expect([permits.running(), permits.waiting()]).toEqual([0, 0]);
    }),
    { numRuns: 500 },
  );
});
