// An upstream is asked as much at once as it may be, and those who wait do so in turn, not for ever.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPlaces } from '../../src/gateway/places.ts';

const never = new AbortController().signal;

test('places are taken at once, then in turn, then not at all', async () => {
  const places = createPlaces({ max: 2, queue: 2 });
  expect([places.take(never), places.take(never)]).toEqual([undefined, undefined]);
  const order: string[] = [];
  const third = places.take(never)?.then(() => order.push('third'));
  const fourth = places.take(never)?.then(() => order.push('fourth'));
  expect(() => places.take(never)).toThrow('Too many requests wait for the model');
  expect(places.figures()).toEqual({ running: 2, waiting: 2 });
  places.give();
  await third;
  expect(order).toEqual(['third']);
  places.give();
  await fourth;
  expect(places.figures()).toEqual({ running: 2, waiting: 0 });
  places.give();
  places.give();
  expect(places.figures()).toEqual({ running: 0, waiting: 0 });
});

test('who leaves the queue gets no place', async () => {
  const places = createPlaces({ max: 1, queue: 5 });
  void places.take(never);
  const leaving = new AbortController();
  const left = places.take(leaving.signal);
  const stays = places.take(never);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  places.give();
  await stays;
  expect(places.figures()).toEqual({ running: 1, waiting: 0 });
});

test('who has left already does not wait', async () => {
  const places = createPlaces({ max: 1, queue: 5 });
  void places.take(never);
  expect(() => places.take(AbortSignal.abort(new Error('left')))).toThrow('left');
  expect(places.figures()).toEqual({ running: 1, waiting: 0 });
});

test('a wait ends with 503 and a retry-after', async () => {
  const places = createPlaces({ max: 1, queue: 5 });
  void places.take(never);
  await expect(places.take(never)).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 });
  expect(places.figures()).toEqual({ running: 1, waiting: 0 });
}, 10_000);

test('more places let those in who wait; fewer take none away', async () => {
  const places = createPlaces({ max: 1, queue: 5 });
  void places.take(never);
  const waiting = [places.take(never), places.take(never), places.take(never)];
  places.resize({ max: 3, queue: 5 });
  await Promise.all(waiting.slice(0, 2));
  expect(places.figures()).toEqual({ running: 3, waiting: 1 });
  places.resize({ max: 1, queue: 5 });
  places.give();
  places.give();
  expect(places.figures()).toEqual({ running: 1, waiting: 1 });
  places.give();
  await waiting[2];
  expect(places.figures()).toEqual({ running: 1, waiting: 0 });
});

test('whatever happens, no more run than may, and none is lost', async () => {
  const step = fc.constantFrom('take', 'give', 'leave');
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, max) => {
        const places = createPlaces({ max, queue: 3 });
        let held = 0;
        const waiting: AbortController[] = [];
        for (const each of steps) {
          if (each === 'give' && held > 0) {
            held -= 1;
            places.give();
          } else if (each === 'leave') waiting.shift()?.abort(new Error('left'));
          else if (each === 'take') {
            const controller = new AbortController();
            try {
              const place = places.take(controller.signal);
              if (place === undefined) held += 1;
              else waiting.push(controller);
              const drop = (): void => {
                waiting.splice(waiting.indexOf(controller) >>> 0, 1);
              };
              place?.then(
                () => {
                  drop();
                  held += 1;
                },
                () => drop(),
              );
            } catch {
              expect(places.figures().waiting).toBe(3);
            }
          }
          await Promise.resolve();
          await Promise.resolve();
          expect(places.figures()).toEqual({ running: held, waiting: waiting.length });
          expect(held).toBeLessThanOrEqual(max);
          if (waiting.length > 0) expect(held).toBe(max);
        }
      },
    ),
  );
});
