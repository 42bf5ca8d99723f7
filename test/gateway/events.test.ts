// A stream's events are the same however its bytes come.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { countEvents, endsWithDone } from '../../src/gateway/event-marks.ts';
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
      fc.constantFrom('\n', '\r\n', '\r'),
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

test('CR alone ends a line; a CRLF that comes in two packets is one', async () => {
  const packets = async (...sent: string[]): Promise<string[]> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const each of sent) controller.enqueue(Buffer.from(each));
        controller.close();
      },
    });
    return readAll(readEventBlocks(body));
  };
  // An event is not kept back until the next one comes.
  expect(await packets('data: a\r\r', 'data: b\r', '\r')).toEqual(['data: a\r\r', 'data: b\r\r']);
  expect(await packets('data: a\r\n\r', '\ndata: b\r\n\r\n')).toEqual(['data: a\r\n\r\ndata: b\r\n\r\n']);
  expect(await packets('data: a\n\rdata: b\r\r\n')).toEqual(['data: a\n\rdata: b\r\r\n']);
  expect(parseEvents('data: a\rdata: b\r\rdata:c\n\r\nevent: e\r\ndata: d\r\r\n')).toEqual([
    { name: '', data: 'a\nb' },
    { name: '', data: 'c' },
    { name: 'e', data: 'd' },
  ]);
});

test('events are counted by their data, however lines end; comments are none', () => {
  const count = (text: string): number => countEvents(Buffer.from(text));
  expect(count('data: a\n\ndata: b\n\n')).toBe(2);
  expect(count('data: a\r\n\r\n: ping\r\n\r\ndata: b\r\n\r\n')).toBe(2);
  expect(count('data: a\r\rdata: b\r\r: data: c\r\r')).toBe(2);
  expect(count(': ping\n\n')).toBe(0);
  expect(count('data: {"content":"data: x\\ndata: y"}\n\n')).toBe(1);
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

  test('a last event without any line end counts where its data is complete', async () => {
    const last = async (sent: string) => (await readText(sent)).flatMap(parseEvents).at(-1)?.data;
    expect(await last('data: a\n\ndata: {"b":1}')).toBe('{"b":1}');
    expect(await last('data: a\n\nevent: x\ndata: {"b":\ndata: 1}')).toBe('{"b":\n1}');
    expect(await last('data: a\r\rdata: {"b":1}\r')).toBe('{"b":1}');
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
  ['data: {}\r\rdata: [DONE]\r\r', true],
  ['data: [DONE]', false],
])('%p has the mark of the end: %p', (text, expected) => {
  expect(hasDone(Buffer.from(text))).toBe(expected);
});

test('a stream may end with the mark behind any line end', () => {
  for (const line of ['\n', '\r\n', '\r'])
    expect(endsWithDone(Buffer.from(`data: {}${line}${line}data: [DONE]${line}${line}`))).toBe(true);
  expect(endsWithDone(Buffer.from('data: "data: [DONE]\n\n'))).toBe(false);
});
