// What every event buffer promises, held against each of them.

import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../src/core/errors.ts';
import { renderTraceHeaders } from '../../src/core/trace-context.ts';
import { APPEND_TIMEOUT_MS, type Delivery, type EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { eventually } from '../support/child.ts';
import { BUFFERS, endCluster } from './event-buffers.ts';

afterAll(endCluster);

const packOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = ({ pack }: Delivery): string => new TextDecoder().decode(pack);
const BYTES = 262_144;

/** Fetches until that many have come. */
async function take(buffer: EventBuffer, count: number): Promise<Delivery[]> {
  const taken: Delivery[] = [];
  await eventually(`${count} packs`, async () => {
    taken.push(...(await buffer.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 200 })));
    return taken.length >= count;
  });
  return taken;
}

for (const { name, missing, appendsAtOnce, prepare } of BUFFERS) {
  const named = missing === undefined ? name : `${name} (${missing})`;
  describe.skipIf(missing !== undefined)(`the event buffer ${named}`, () => {
    test('gives packs back whole, oldest first', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      const bodies = ['one', '', 'three'.repeat(10_000), '\0\xff'];
      for (const body of bodies) await buffer.append(packOf(body));
      expect((await take(buffer, bodies.length)).map(textOf)).toEqual(bodies);
    });

    test(`loses none of ${appendsAtOnce} appends at once`, async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      const bodies = Array.from({ length: appendsAtOnce }, (_, index) => `pack ${index}`);
      await Promise.all(bodies.map((body) => buffer.append(packOf(body))));
      const taken = await take(buffer, bodies.length);
      expect(taken.map(textOf).sort()).toEqual(bodies.toSorted());
      await buffer.acknowledge(taken);
      // Servers that keep copies remove what is acknowledged once all have heard of it.
      await eventually('none to wait', async () => (await buffer.metrics()).packs === 0);
    });

    test('says when all that it had accepted is stored, whatever comes meanwhile', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      expect(await buffer.awaitStored(60_000)).toBe(0);
      for (const body of ['a', 'b', 'c']) await buffer.append(packOf(body));
      const taken = await take(buffer, 3);
      await buffer.acknowledge(taken.slice(0, 1));
      await eventually('two to wait', async () => (await buffer.awaitStored(0)) === 2);
      const begun = Promise.withResolvers<void>();
      const watched: EventBuffer = Object.assign(Object.create(buffer), {
        async metrics() {
          const found = await buffer.metrics();
          begun.resolve();
          return found;
        },
      });
      const stored = watched.awaitStored(60_000);
      await begun.promise;
      await buffer.acknowledge(taken.slice(1));
      await buffer.append(packOf('later'));
      expect(await stored).toBe(0);
    });

    test('delivers a pack with the trace in which it was appended, also after a restart', async () => {
      await using setting = await prepare();
      const first = await setting.open();
      const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true, state: undefined };
      await first.append(packOf('traced'), renderTraceHeaders(trace));
      await first.append(packOf('untraced'));
      await first.close();
      const taken = await take(await setting.open(), 2);
      expect(taken.map((delivery) => delivery.trace)).toEqual([trace, undefined]);
    });

    test('waits for the first pack, and gives up after the time', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      expect(await buffer.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 150 })).toEqual([]);
      expect(await buffer.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 0 })).toEqual([]);
      const waiting = buffer.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 20_000 });
      await buffer.append(packOf('late'));
      expect((await waiting).map(textOf)).toEqual(['late']);
    });

    test('delivers what was not acknowledged again after a restart, and nothing else', async () => {
      await using setting = await prepare();
      const first = await setting.open();
      for (const body of ['a', 'b', 'c']) await first.append(packOf(body));
      const taken = await take(first, 3);
      await first.acknowledge(taken.slice(0, 2));
      await first.release(taken.slice(2));
      await first.close();
      const second = await setting.open();
      const again = await take(second, 1);
      expect(again.map(textOf)).toEqual(['c']);
      await second.acknowledge(again);
      expect(await second.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 100 })).toEqual([]);
    });

    test('delivers what was fetched only again after a restart', async () => {
      await using setting = await prepare();
      const first = await setting.open();
      await first.append(packOf('held'));
      await take(first, 1);
      expect(await first.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 50 })).toEqual([]);
      await first.close();
      const second = await setting.open();
      expect((await take(second, 1)).map(textOf)).toEqual(['held']);
    });

    test('fetches about as much as was asked for, and at least one', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      const body = randomBytes(100_000);
      for (let index = 0; index < 10; index++) await buffer.append(body);
      expect((await buffer.fetch({ bytesMax: 1, packsMax: 500, waitMs: 20_000 })).length).toBe(1);
      // The server that sends them may have its copy a moment after the two that acknowledged them.
      const some = await eventually('as much as was asked for', async () => {
        const fetched = await buffer.fetch({ bytesMax: 350_000, packsMax: 500, waitMs: 20_000 });
        if (fetched.length >= 3) return fetched;
        await buffer.release(fetched);
        return undefined;
      });
      expect(some.length).toBeWithin(3, 5);
      expect((await take(buffer, 9 - some.length)).length).toBe(9 - some.length);
    });

    test('counts what waits', async () => {
      await using setting = await prepare(2 ** 24);
      const buffer = await setting.open();
      for (let index = 0; index < 5; index++) await buffer.append(randomBytes(10_000));
      const full = await buffer.metrics();
      expect(full).toMatchObject({ packs: 5, bytesMax: 2 ** 24 });
      expect(full.bytes).toBeGreaterThanOrEqual(50_000);
      await buffer.acknowledge(await take(buffer, 5));
      // Servers that keep copies remove what is acknowledged once all have heard of it.
      await eventually('none to wait', async () => (await buffer.metrics()).packs === 0);
    });

    test('delivers what was released again', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      await buffer.append(packOf('again'));
      await buffer.release(await take(buffer, 1));
      expect((await take(buffer, 1)).map(textOf)).toEqual(['again']);
    });

    test('refuses what it has no room for, keeps what it has, and takes more once there is room', async () => {
      await using setting = await prepare(2 ** 20);
      const buffer = await setting.open();
      const body = randomBytes(100_000);
      let kept = 0;
      const refusal = await eventually('the buffer to be full', async () => {
        try {
          await buffer.append(body);
          kept += 1;
          return undefined;
        } catch (error) {
          return error;
        }
      });
      expect(refusal).toBeInstanceOf(ServiceError);
      expect(refusal).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('full') });
      const taken = await take(buffer, kept);
      expect(taken.length).toBe(kept);
      await buffer.acknowledge(taken);
      await eventually('room', () =>
        buffer.append(body).then(
          () => true,
          () => false,
        ),
      );
    });

    test('takes a pack of a megabyte', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      const body = randomBytes(1_040_000);
      await buffer.append(body);
      const [delivery] = await take(buffer, 1);
      expect(Buffer.from(delivery?.pack ?? []).equals(body)).toBeTrue();
    });

    test('shares packs between sinks, or names the lock that keeps the second one out', async () => {
      await using setting = await prepare();
      const [first, second] = [await setting.open(), await setting.open()];
      expect(first.sinkLock()).toBe(second.sinkLock());
      if (first.sinkLock() !== undefined) return;
      for (let index = 0; index < 200; index++) await first.append(packOf(`${index}`));
      const taken: Delivery[] = [];
      const drain = async (buffer: EventBuffer): Promise<void> => {
        while (taken.length < 200) {
          const some = await buffer.fetch({ bytesMax: 1, packsMax: 500, waitMs: 200 });
          taken.push(...some);
          // One that waits for this for longer than the server does is delivered again.
          await buffer.acknowledge(some);
        }
      };
      await Promise.all([drain(first), drain(second)]);
      expect(taken.map(textOf).sort()).toEqual(Array.from({ length: 200 }, (_, i) => `${i}`).sort());
    });

    test('tells what an acknowledgement is worth', async () => {
      await using setting = await prepare();
      const buffer = await setting.open();
      expect(buffer.durability()).toEqual({ synced: true });
      expect(APPEND_TIMEOUT_MS).toBeLessThan(2000);
    });
  });
}

test('a fetch of the journal that waits ends with nothing when its sink ends', async () => {
  const journal = BUFFERS.find(({ name }) => name === 'journal');
  if (journal === undefined) throw new Error('there is no journal');
  await using setting = await journal.prepare();
  const buffer = await setting.open();
  // Longer than a test may take.
  const ending = new AbortController();
  const { signal } = ending;
  const waiting = buffer.fetch({ bytesMax: BYTES, packsMax: 500, waitMs: 3_600_000, signal });
  ending.abort();
  expect(await waiting).toEqual([]);
  await buffer.append(packOf('later'));
  expect((await take(buffer, 1)).map(textOf)).toEqual(['later']);
});
