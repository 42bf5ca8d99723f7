// The pool of threads: nothing that was asked stays without an answer, and short work waits for no long work.

import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { ServiceError } from '../../src/core/errors.ts';
import { eventually } from '../support/child.ts';
import { machineNow } from '../support/machine-time.ts';
import { startPools } from './support/pool.ts';

/** Longer than a test would wait. */
const ENDLESS = 50;
/** It takes a 123rd of that. */
const HUNDREDTH = 40;
const LONG = { lane: 'long' } as const;
/** How much longer than the shortest work its place may take to be free, on a busy machine. */
const TIMES_SHORTEST = 10;

/** For which a deaf thread would not be heard of; the pool replaces it long before. */
const DEAF_MS = 600_000;

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof Error ? error.message : error));

describe('the pool', () => {
  test('gives each caller its own result', async () => {
    await using under = await startPools();
    const inputs = Array.from({ length: 100 }, (_, index) => index);
    expect(await Promise.all(inputs.map((input) => under.run('echo', input)))).toEqual(inputs);
    const vectors = (await under.run('vectors', 100_000)) as Float32Array;
    expect([vectors.length, vectors.every((value) => value === 1)]).toEqual([100_000, true]);
  });

  test('does short work at once while every thread has long work', async () => {
    await using under = await startPools({ threads: 1 });
    const leaving = new AbortController();
    const endless = outcomeOf(under.run('fibonacci', ENDLESS, { ...LONG, signal: leaving.signal }));
    await eventually('the long one to run', () => under.long.metrics().running === 1);
    const startedAt = machineNow();
    for (let round = 0; round < 20; round++) expect(await under.run('echo', round)).toBe(round);
    expect(await under.run('fibonacci', 20)).toBe('6765');
    // The long one takes many times as long.
    expect(machineNow() - startedAt).toBeLessThan(20_000);
    expect(under.long.metrics()).toMatchObject({ waiting: 0, running: 1 });
    leaving.abort('enough');
    expect(await endless).toBe('enough');
  });

  test('does not forget the long work over short work without end, and ends it as soon as ever', async () => {
    await using under = await startPools({ threads: 1 });
    let over = false;
    const keep = async (): Promise<void> => {
      while (!over) await under.run('fibonacci', 20);
    };
    const keepers = Array.from({ length: 8 }, keep);
    expect(await under.run('fibonacci', 32, LONG)).toBe('2178309');
    const timeOfShortest = async (): Promise<number> => {
      const startedAt = machineNow();
      expect(await under.run('fibonacci', 1, LONG)).toBe('1');
      return machineNow() - startedAt;
    };
    let leastMs = Number.POSITIVE_INFINITY;
    // Some of them may have met a pause of the machine.
    for (let round = 0; round < 5 && leastMs >= 200; round++) {
      // A busy machine gives a thread of low priority little time for anything.
      const allowedMs = TIMES_SHORTEST * (await timeOfShortest());
      const leaving = new AbortController();
      const endless = outcomeOf(under.run('fibonacci', ENDLESS, { ...LONG, signal: leaving.signal }));
      await eventually('it to run', () => under.long.metrics().running === 1);
      const leftAt = machineNow();
      leaving.abort('left');
      expect(await endless).toBe('left');
      await timeOfShortest();
      leastMs = Math.min(leastMs, machineNow() - leftAt - allowedMs);
    }
    expect(leastMs).toBeLessThan(200);
    over = true;
    await Promise.all(keepers);
  });

  test('shares the threads by owners, and refuses what one sends beyond its queue', async () => {
    await using under = await startPools({ threads: 1, waitingMax: 2 });
    const order: string[] = [];
    const ask = (owner: string, number: number) =>
      under
        .run('spin', 20, { owner })
        .then(() => void order.push(`${owner}${number}`))
        .catch(({ message }: Error) => void order.push(`${owner}${number}: ${message}`));
    await Promise.all([ask('a', 1), ask('a', 2), ask('a', 3), ask('a', 4), ask('b', 1), ask('b', 2)]);
    expect(order).toEqual(['a4: Too much is waiting for a thread already', 'a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('refuses what is too much with 503, and counts each lane by itself', async () => {
    await using under = await startPools({ threads: 1, waitingMax: 2 });
    const leaving = new AbortController();
    const long = { ...LONG, signal: leaving.signal };
    const taken = [1, 2, 3].map(() => outcomeOf(under.run('fibonacci', ENDLESS, long)));
    const refused = await under.run('fibonacci', ENDLESS, long).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ServiceError);
    expect(refused).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 });
    expect(await under.run('echo', 'short')).toBe('short');
    leaving.abort('left');
    expect(await Promise.all(taken)).toEqual(['left', 'left', 'left']);
    expect(under.long.metrics().waiting).toBe(0);
    expect(under.long.metrics().counts.get('fibonacci')).toMatchObject({ cancelled: 3, refused: 1 });
  });

  test('frees the thread within a hundredth of the time of the work when the caller leaves', async () => {
    await using under = await startPools({ threads: 1 });
    const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
      const startedAt = performance.now();
      await work();
      return performance.now() - startedAt;
    };
    const [whole, left]: [number[], number[]] = [[], []];
    for (let round = 0; round < 5; round++) {
      whole.push(await timeOf(() => under.run('fibonacci', HUNDREDTH, LONG)));
      const leaving = new AbortController();
      const endless = outcomeOf(under.run('fibonacci', ENDLESS, { ...LONG, signal: leaving.signal }));
      await eventually('it to run', () => under.long.metrics().running === 1);
      left.push(
        await timeOf(async () => {
          leaving.abort('left');
          expect(await endless).toBe('left');
          // The next long one begins when the thread is free.
          expect(await under.run('fibonacci', 1, LONG)).toBe('1');
        }),
      );
    }
    // Some of them may have met a pause of the machine.
    const median = (times: number[]): number => times.toSorted((a, b) => a - b)[2] as number;
    expect(median(left)).toBeLessThan(median(whole));
  });

  test('ends what waits or runs for too long with 503', async () => {
    await using under = await startPools({ threads: 1 });
    const running = outcomeOf(under.run('fibonacci', ENDLESS, { ...LONG, timeoutMs: 100 }));
    const waiting = outcomeOf(under.run('fibonacci', ENDLESS, { ...LONG, timeoutMs: 50 }));
    expect(await waiting).toBe('Test: it did not end in time');
    expect(await running).toBe('Test: it did not end in time');
    expect(await under.run('fibonacci', 10, LONG)).toBe('55');
  });

  test('starts in a process of low priority that may not raise it', async () => {
    const pools = JSON.stringify(join(import.meta.dir, 'support/pool.ts'));
    const script = `await using under = await (await import(${pools})).startPools(); console.log(await under.run('echo', 'alive'));`;
    // Root may raise priorities as long as it has this capability.
    const unprivileged = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_nice'] : [];
    const child = Bun.spawn([...unprivileged, 'nice', '-n', '15', process.execPath, '-e', script], {
      stderr: 'inherit',
    });
    expect(await new Response(child.stdout).text()).toBe('alive\n');
  });

  test('gives up a thread that does not obey, and goes on with another', async () => {
    await using under = await startPools({ threads: 1 });
    const deaf = outcomeOf(under.run('spin', DEAF_MS, { timeoutMs: 50 }));
    expect(await deaf).toBe('Test: it did not end in time');
    expect(await under.run('echo', 'again')).toBe('again');
    expect(under.short.metrics()).toMatchObject({ threads: 1 });
  });

  test('opens its threads with work, and refuses none that they will take', async () => {
    await using under = await startPools({ waitingMax: 1 });
    expect(under.long.metrics()).toMatchObject({ threads: 0 });
    const works = [10, 11, 12, 13].map((n) => outcomeOf(under.run('fibonacci', n, LONG)));
    expect(await Promise.all(works)).toEqual(['55', '89', '144', 'Too much is waiting for a thread already']);
    expect(under.long.metrics()).toMatchObject({ threads: 2 });
  });

  test('tells of work that fails, and keeps the thread', async () => {
    await using under = await startPools();
    expect(await outcomeOf(under.run('fail', 'this'))).toBe('refused: this');
    expect(await outcomeOf(under.run('nothing of the kind', 0))).toBe(
      'there is no handler for nothing of the kind',
    );
  });

  test('answers every one of 1,000 jobs although threads are killed amid them', async () => {
    await using under = await startPools();
    const jobs = Array.from({ length: 1000 }, (_, index) =>
      outcomeOf(index % 250 === 100 ? under.run('die', 0) : under.run('fibonacci', 10 + (index % 15))),
    );
    const outcomes = await Promise.all(jobs);
    const died = 'Test: the thread that ran it has died';
    const numbers = ['55', '89', '144', '233', '377', '610', '987', '1597', '2584', '4181', '6765'];
    numbers.push('10946', '17711', '28657', '46368');
    expect(outcomes).toEqual(outcomes.map((_, index) => (index % 250 === 100 ? died : numbers[index % 15])));
    expect(under.short.metrics()).toMatchObject({ waiting: 0, running: 0 });
  });

  test('runs again what a dying thread had, and gives it up after the second one', async () => {
    await using under = await startPools({ threads: 1 });
    const killed = outcomeOf(under.run('die', 0));
    const beside = [0, 1, 2].map((each) => outcomeOf(under.run('echo', each)));
    const again = under.run('dieOnce', new Int32Array(new SharedArrayBuffer(4)));
    expect(await killed).toBe('Test: the thread that ran it has died');
    expect(await Promise.all(beside)).toEqual([0, 1, 2]);
    expect(await again).toBe('alive');
  });

  test('ends everything with 503 when the service ends, and takes nothing more', async () => {
    await using under = await startPools({ threads: 1 });
    const works = [1, 2, 3].map(() => outcomeOf(under.run('fibonacci', ENDLESS, LONG)));
    under.long.interrupt();
    const ending = 'The service is shutting down';
    expect(await Promise.all(works)).toEqual([ending, ending, ending]);
    expect(await outcomeOf(under.run('echo', 1, LONG))).toBe(ending);
  });

  test('keeps nothing of work that is done: no timer, and no listener of its caller', async () => {
    await using under = await startPools();
    const timers = (): number => {
      Bun.gc(true);
      return heapStats().objectTypeCounts['Timeout'] ?? 0;
    };
    const { signal } = new AbortController();
    await under.run('echo', 'warm', { signal });
    const before = timers();
    for (let round = 0; round < 50; round++) {
      const works = Array.from({ length: 10 }, () =>
        under.run('echo', round, { signal, timeoutMs: 600_000 }),
      );
      await Promise.all(works);
    }
    expect(timers() - before).toBeLessThan(100);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(under.short.metrics()).toMatchObject({ waiting: 0, running: 0 });
  });

  test('whose thread cannot be opened says so at once', async () => {
    const entry = new URL('./nothing.ts', import.meta.url);
    await expect(startPools({ entry })).rejects.toThrow();
  });
});
