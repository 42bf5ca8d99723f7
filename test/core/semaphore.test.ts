// No more run at once than may; the others wait in order of arrival, and not for ever.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createSemaphore } from '../../src/core/semaphore.ts';

const never = new AbortController().signal;

const create = (runningMax: number, waitingMax: number) =>
  createSemaphore({ runningMax, waitingMax, waitMsMax: 500, refuse: 'Too many requests wait for the model' });

test('permits are acquired at once, then in order of arrival, then not at all', async () => {
  const semaphore = create(2, 2);
  await Promise.all([semaphore.acquire(never), semaphore.acquire(never)]);
  expect(semaphore.metrics()).toEqual({ running: 2, waiting: 0 });
  const order: string[] = [];
  const third = semaphore.acquire(never)?.then(() => order.push('third'));
  const fourth = semaphore.acquire(never)?.then(() => order.push('fourth'));
  expect(() => semaphore.acquire(never)).toThrow('Too many requests wait for the model');
  expect(semaphore.metrics()).toEqual({ running: 2, waiting: 2 });
  semaphore.release();
  await third;
  expect(order).toEqual(['third']);
  semaphore.release();
  await fourth;
  expect(semaphore.metrics()).toEqual({ running: 2, waiting: 0 });
  semaphore.release();
  semaphore.release();
  expect(semaphore.metrics()).toEqual({ running: 0, waiting: 0 });
});

test('a caller that leaves the queue gets no permit', async () => {
  const semaphore = create(1, 5);
  void semaphore.acquire(never);
  const leaving = new AbortController();
  const left = semaphore.acquire(leaving.signal);
  const stays = semaphore.acquire(never);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  semaphore.release();
  await stays;
  expect(semaphore.metrics()).toEqual({ running: 1, waiting: 0 });
});

test('a caller that has left already does not wait', async () => {
  const semaphore = create(1, 5);
  void semaphore.acquire(never);
  expect(() => semaphore.acquire(AbortSignal.abort(new Error('left')))).toThrow('left');
  expect(semaphore.metrics()).toEqual({ running: 1, waiting: 0 });
});

test('a wait ends with 503 and a retry-after', async () => {
  const semaphore = create(1, 5);
  void semaphore.acquire(never);
  await expect(semaphore.acquire(never)).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 });
  expect(semaphore.metrics()).toEqual({ running: 1, waiting: 0 });
});

test('more permits let those in who wait; fewer take none away', async () => {
  const semaphore = create(1, 5);
  void semaphore.acquire(never);
  const waiting = [semaphore.acquire(never), semaphore.acquire(never), semaphore.acquire(never)];
  semaphore.resize({ runningMax: 3, waitingMax: 5 });
  await Promise.all(waiting.slice(0, 2));
  expect(semaphore.metrics()).toEqual({ running: 3, waiting: 1 });
  semaphore.resize({ runningMax: 1, waitingMax: 5 });
  semaphore.release();
  semaphore.release();
  expect(semaphore.metrics()).toEqual({ running: 1, waiting: 1 });
  semaphore.release();
  await waiting[2];
  expect(semaphore.metrics()).toEqual({ running: 1, waiting: 0 });
});

test('whatever happens, no more run than may, and none is lost', async () => {
  const step = fc.constantFrom('acquire', 'release', 'leave');
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, max) => {
        const semaphore = create(max, 3);
        let held = 0;
        const waiting: AbortController[] = [];
        for (const each of steps) {
          if (each === 'release' && held > 0) {
            held -= 1;
            semaphore.release();
          } else if (each === 'leave') waiting.shift()?.abort(new Error('left'));
          else if (each === 'acquire') {
            const controller = new AbortController();
            try {
              const permit = semaphore.acquire(controller.signal);
              if (permit === undefined) held += 1;
              else waiting.push(controller);
              const drop = (): void => {
                waiting.splice(waiting.indexOf(controller) >>> 0, 1);
              };
              permit?.then(
                () => {
                  drop();
                  held += 1;
                },
                () => drop(),
              );
            } catch {
              expect(semaphore.metrics().waiting).toBe(3);
            }
          }
          await Promise.resolve();
          await Promise.resolve();
          expect(semaphore.metrics()).toEqual({ running: held, waiting: waiting.length });
          expect(held).toBeLessThanOrEqual(max);
          if (waiting.length > 0) expect(held).toBe(max);
        }
      },
    ),
  );
});
