// Admission: permits and queues are bounded, shared between workspaces, and nobody waits in vain.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Admission, type Overloaded, WorkQueue } from '../../src/http/admission.ts';

const ignore = (): void => undefined;
const LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
/** Enough rounds of the event loop for each request that may begin to begin. */
const settle = async (rounds = 50): Promise<void> => {
  for (let round = 0; round < rounds; round++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** A request of the workspace; `outcome` tells what became of it. */
function request(queue: WorkQueue, workspace: string) {
  const made = { workspace, outcome: 'waits' as string, leave: ignore };
  queue.enter(workspace).then(
    (leave) => Object.assign(made, { outcome: 'runs', leave }),
    (error: Overloaded) => Object.assign(made, { outcome: error.message }),
  );
  return made;
}

test('one workspace never has all permits of a class, and a permit is returned once', async () => {
  const queue = new WorkQueue(8);
  const noisy = Array.from({ length: 8 }, () => request(queue, 'noisy'));
  await settle();
  expect([queue.running, queue.waiting]).toEqual([7, 1]);
  const quiet = request(queue, 'quiet');
  await settle();
  expect(quiet.outcome).toBe('runs');
  noisy[0]?.leave();
  noisy[0]?.leave();
  await settle();
  expect(noisy[7]?.outcome).toBe('runs');
  expect([queue.running, queue.waiting]).toEqual([8, 0]);
});

test('the next permit is for the workspace with the fewest running requests, there the oldest one', async () => {
  const queue = new WorkQueue(4);
  const running = ['noisy', 'noisy', 'noisy', 'quiet'].map((each) => request(queue, each));
  await settle();
  const waiting = ['noisy', 'noisy', 'quiet'].map((each) => request(queue, each));
  running[0]?.leave();
  await settle();
  expect(waiting.map(({ outcome }) => outcome)).toEqual(['waits', 'waits', 'runs']);
  running[1]?.leave();
  await settle();
  expect(waiting.map(({ outcome }) => outcome)).toEqual(['runs', 'waits', 'runs']);
});

test('a full queue refuses the newest request of the workspace with the longest one', async () => {
  const queue = new WorkQueue(1);
  request(queue, 'any');
  await settle();
  const noisy = Array.from({ length: 512 }, () => request(queue, 'noisy'));
  const quiet = request(queue, 'quiet');
  await settle(2);
  expect(noisy.at(-1)?.outcome).toContain('too many requests wait');
  expect([noisy[0]?.outcome, quiet.outcome]).toEqual(['waits', 'waits']);
  expect(queue.refused).toEqual({ late: 0, crowded: 1 });
});

test('in a crowd, what has waited for half a second is refused; without one, five seconds', async () => {
  const queue = new WorkQueue(1);
  request(queue, 'any');
  await settle();
  const waiting = Array.from({ length: 70 }, () => request(queue, 'one'));
  await Bun.sleep(550);
  queue.refuseLate();
  await settle(2);
  // Once no more than 64 wait, they are no crowd.
  expect(waiting.filter(({ outcome }) => outcome.includes('waited too long'))).toHaveLength(6);
  expect(waiting.slice(6).every(({ outcome }) => outcome === 'waits')).toBeTrue();
});

test('at the end of a shutdown nothing waits, and that is no overload', async () => {
  const admission = new Admission(LOG);
  for (let at = 0; at < 56; at++) void admission.enter('heavy', 'one');
  const waiting = admission.enter('heavy', 'one');
  admission.end();
  expect(waiting).rejects.toThrow('shutting down');
  await waiting.catch(ignore);
  expect(admission.readiness()).toEqual({ state: 'ready' });
});

const action = fc.oneof(
  { weight: 5, arbitrary: fc.nat(3).map((workspace) => ({ arrives: `w${workspace}` })) },
  { weight: 4, arbitrary: fc.nat(20).map((leaves) => ({ leaves })) },
);

test('whatever comes, no bound is broken, and everybody begins in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
      const queue = new WorkQueue(6);
      const all: ReturnType<typeof request>[] = [];
      const running = () => all.filter(({ outcome }) => outcome === 'runs');
      const leave = (which: number): void => {
        const left = running()[which % Math.max(1, running().length)];
        if (left === undefined) return;
        left.outcome = 'left';
        left.leave();
      };
      for (const each of actions) {
        if ('arrives' in each) all.push(request(queue, each.arrives));
        else leave(each.leaves);
        await settle(4);
        expect(queue.running).toBe(running().length);
        expect(queue.running).toBeLessThanOrEqual(6);
        // No permit is free that a waiting request could have.
        const waiting = all.filter(({ outcome }) => outcome === 'waits');
        expect(queue.waiting).toBe(waiting.length);
        for (const { workspace } of waiting)
          expect(
            queue.running === 6 || running().filter((other) => other.workspace === workspace).length === 6,
          ).toBe(true);
      }
      while (running().length > 0) {
        leave(0);
        await settle(4);
      }
      expect(all.every(({ outcome }) => outcome === 'left')).toBeTrue();
      expect([queue.running, queue.waiting]).toEqual([0, 0]);
    }),
    { numRuns: 100 },
  );
});
