// A body has time as long as it moves: how long a slow sender is waited for, and what a newer one may take from it.

import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import type { ServiceError } from '../../src/core/errors.ts';
import { bodyMemory, readBody } from '../../src/http/body.ts';
import {
  BODIES_BYTES_MAX,
  BODY_BYTES_PER_SECOND_MIN,
  BODY_GIVES_WAY_MS,
  BODY_TIMEOUT_MS,
} from '../../src/http/limits.ts';

const MAX = 16_777_216;

/** Time passes when the test says so. */
function stopClock(): (ms: number) => void {
  // Whole, so that sums of times are exact.
  let nowMs = Math.ceil(performance.now());
  spyOn(performance, 'now').mockImplementation(() => nowMs);
  return (ms) => {
    nowMs += ms;
  };
}
afterEach(() => jest.restoreAllMocks());

/** As `eventually`, which needs a clock that goes. */
async function soon(what: string, condition: () => boolean): Promise<void> {
  for (let looked = 0; !condition(); looked++) {
    if (looked > 2000) throw new Error(`in vain waited for: ${what}`);
    await Bun.sleep(5);
  }
}

/** A body in chunks, which the test sends. */
function sender() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const request = new Request('http://localhost/', { method: 'POST', body: readable });
  const heldBefore = bodyMemory.heldBytes;
  let outcome: number | ServiceError | undefined;
  const holder = { bodyBytes: 0 };
  readBody(request, holder, MAX).then(
    (bytes) => {
      outcome = bytes.length;
    },
    (error) => {
      outcome = error;
    },
  );
  let sent = 0;
  return {
    holder,
    outcome: () => outcome,
    /** Resolves when the bytes have been read. */
    async send(size: number): Promise<void> {
      sent += size;
      void writer.write(new Uint8Array(size)).catch(() => undefined);
      await soon(
        'the bytes to be read',
        () => outcome !== undefined || bodyMemory.heldBytes - heldBefore >= sent,
      );
    },
    end: () => writer.close(),
    sendLate: (size: number) => void writer.write(new Uint8Array(size)).catch(() => undefined),
  };
}

/** Longer than the sweeps for late bodies are apart, by the clock that does not stop. */
const ticks = () => Bun.sleep(250);

test('a body of which nothing comes for half a minute is given up', async () => {
  const pass = stopClock();
  const { holder, outcome, send, sendLate } = sender();
  await send(8_000_000);
  pass(BODY_TIMEOUT_MS - 1);
  await ticks();
  expect(outcome()).toBeUndefined();
  pass(1);
  await soon('the refusal', () => outcome() !== undefined);
  expect((outcome() as ServiceError).kind).toBe('request-timeout');
  // What comes later is not held any more: nothing would release it.
  bodyMemory.release(holder);
  const held = bodyMemory.heldBytes;
  sendLate(1000);
  await ticks();
  expect(bodyMemory.heldBytes).toBe(held);
});

test('a large body has the time that it takes at the slowest rate, and no more', async () => {
  const pass = stopClock();
  const step = BODY_BYTES_PER_SECOND_MIN * 20;
  const [steady, dripping] = [sender(), sender()];
  for (let round = 0; round < 6; round++) {
    await steady.send(step);
    if (dripping.outcome() === undefined) dripping.sendLate(1);
    await ticks();
    pass(20_000);
    await ticks();
  }
  expect(steady.outcome()).toBeUndefined();
  expect((dripping.outcome() as ServiceError).kind).toBe('request-timeout');
  await steady.end();
  await soon('the whole body', () => steady.outcome() === 6 * step);
  bodyMemory.release(steady.holder);
  bodyMemory.release(dripping.holder);
});

test('where memory is short, a body that has been arriving for long is refused, and a newer one is taken', async () => {
  const pass = stopClock();
  const stalled = sender();
  await stalled.send(1_000_000);
  const [whole, taken] = [{ bodyBytes: 0 }, { bodyBytes: 0 }];
  bodyMemory.hold(whole, BODIES_BYTES_MAX - bodyMemory.heldBytes);
  pass(BODY_GIVES_WAY_MS);
  const body = Buffer.alloc(1000);
  const headers = { 'content-length': '1000' };
  const next = new Request('http://localhost/', { method: 'POST', body, headers });
  expect(await readBody(next, taken, MAX)).toHaveLength(1000);
  await soon('the refusal', () => stalled.outcome() !== undefined);
  expect((stalled.outcome() as ServiceError).kind).toBe('request-timeout');
  for (const each of [whole, taken]) bodyMemory.release(each);
});
