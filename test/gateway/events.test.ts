// A stream's events are the same however its bytes come.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type EventBlocks,
  hasDone,
  hasFinishReason,
  parseEvents,
  readEventBlocks,
  splitEvents,
} from '../../src/gateway/events.ts';

/** The bytes in pieces that end where the cuts are. */
function inPieces(bytes: Uint8Array, cuts: readonly number[], death?: Error): ReadableStream<Uint8Array> {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const pieces = [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces[at++];
      if (piece !== undefined) controller.enqueue(piece);
      else if (death === undefined) controller.close();
      else controller.error(death);
    },
  });
}

async function readAll(blocks: EventBlocks): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const block = await blocks.next();
    if (block === undefined) return all;
    all.push(Buffer.from(block).toString());
  }
}

const text = fc.string({ unit: 'grapheme', maxLength: 30 }).map((value) => JSON.stringify({ value }));
const event = fc.record({
  name: fc.constantFrom('', 'delta', 'message_stop'),
  data: fc.array(text, { minLength: 1, maxLength: 3 }),
  comment: fc.boolean(),
});
const cuts = fc.array(fc.nat(10_000), { maxLength: 40 });

test('blocks hold whole events, nothing is lost or added, and the events are the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      cuts,
      async (all, line, at) => {
        const sent = all
          .map(({ name, data, comment }) =>
            [
              ...(comment ? [`: comment${line}${line}`] : []),
              ...(name === '' ? [] : [`event: ${name}${line}`]),
              ...data.map((each) => `data: ${each}${line}`),
              line,
            ].join(''),
          )
          .join('');
        const blocks = await readAll(readEventBlocks(inPieces(Buffer.from(sent), at)));
        expect(blocks.join('')).toBe(sent);
        for (const block of blocks) expect(block.endsWith(`${line}${line}`)).toBe(true);
        for (const block of blocks) expect(splitEvents(block).join('')).toBe(block);
        expect(blocks.flatMap(parseEvents)).toEqual(
          all.map(({ name, data }) => ({ name, data: data.join('\n') })),
        );
      },
    ),
    { numRuns: 500 },
  );
});

describe('at the end of a stream', () => {
  const readText = (sent: string): Promise<string[]> =>
    readAll(readEventBlocks(inPieces(Buffer.from(sent), [3, 9])));

  test('a last event without its blank line counts', async () => {
    expect((await readText('data: a\n\ndata: [DONE]\n')).flatMap(parseEvents).at(-1)?.data).toBe('[DONE]');
    expect((await readText('data: a\r\n\r\ndata: [DONE]\r\n')).flatMap(parseEvents).at(-1)?.data).toBe(
      '[DONE]',
    );
  });

  test('a [DONE] without any line end counts', async () => {
    expect((await readText('data: a\n\ndata: [DONE]')).flatMap(parseEvents).at(-1)?.data).toBe('[DONE]');
  });

  test('blank lines are no event', async () => {
    expect((await readText('data: a\n\n\n\r\n')).flatMap(parseEvents)).toEqual([{ name: '', data: 'a' }]);
  });

  test('half an event is told as a broken stream, after the whole ones', async () => {
    const blocks = readEventBlocks(inPieces(Buffer.from('data: {"a":1}\n\ndata: {"b":'), [15]));
    expect(Buffer.from((await blocks.next()) ?? []).toString()).toBe('data: {"a":1}\n\n');
    await expect(blocks.next()).rejects.toThrow('within an event');
  });

  test('death is told, also within an event', async () => {
    const blocks = readEventBlocks(inPieces(Buffer.from('data: {"a":'), [], new Error('died')));
    await expect(blocks.next()).rejects.toThrow('died');
  });
});

test('an event that never ends is refused before it fills the memory', async () => {
  const piece = new Uint8Array(1_048_576).fill(0x61);
  const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
  const blocks = readEventBlocks(endless);
  await expect(blocks.next()).rejects.toThrow('too large');
  blocks.cancel();
});

test.each([
  ['{"finish_reason":"stop"}', true],
  ['{"finish_reason": \t\n"stop"}', true],
  ['{"finish_reason":null},{"finish_reason":"length"}', true],
  ['{"finish_reason":null}', false],
  ['{"finish_reason":', false],
  ['{"finish":"stop"}', false],
  ['', false],
])('%p has a finish reason: %p', (text, expected) => {
  expect(hasFinishReason(Buffer.from(text))).toBe(expected);
});

test.each([
  ['data: [DONE]\n\n', true],
  ['data: {}\n\ndata:[DONE]\r\n\r\n: later\n\n', true],
  ['data: {"content":"[DONE]"}\n\n', false],
  ['data: {"content":"x data: [DONE]\\n"}\n\n', false],
  ['data: [DONE]', false],
])('%p has the mark of the end: %p', (text, expected) => {
  expect(hasDone(Buffer.from(text))).toBe(expected);
});
