// A stream's events are the same however its bytes come.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type EventBlock, parseEvents, readBlocks, renderEvent } from '../../src/gateway/events.ts';

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

async function readAll(blocks: AsyncIterable<EventBlock>): Promise<string[]> {
  const all: string[] = [];
  for await (const { bytes } of blocks) all.push(Buffer.from(bytes).toString());
  return all;
}

const parse = (text: string) => parseEvents(text).map(({ name, data }) => ({ name, data }));

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
        const blocks = await readAll(readBlocks(inPieces(Buffer.from(sent), at)));
        expect(blocks.join('')).toBe(sent);
        for (const block of blocks) expect(block.endsWith(`${line}${line}`)).toBe(true);
        const expected = all.map(({ name, data }) => ({ name, data: data.join('\n') }));
        expect(blocks.flatMap(parse)).toEqual(expected);
        expect(blocks.flatMap(parseEvents).map(renderEvent).flatMap(parse)).toEqual(expected);
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
    return readAll(readBlocks(body));
  };
  // An event is not kept back until the next one comes.
  expect(await packets('data: a\r\r', 'data: b\r', '\r')).toEqual(['data: a\r\r', 'data: b\r\r']);
  expect(await packets('data: a\r\n\r', '\ndata: b\r\n\r\n')).toEqual(['data: a\r\n\r\ndata: b\r\n\r\n']);
  expect(await packets('data: a\n\rdata: b\r\r\n')).toEqual(['data: a\n\rdata: b\r\r\n']);
  expect(parse('data: a\rdata: b\r\rdata:c\n\r\nevent: e\r\ndata: d\r\r\n')).toEqual([
    { name: '', data: 'a\nb' },
    { name: '', data: 'c' },
    { name: 'e', data: 'd' },
  ]);
});

describe('at the end of a stream', () => {
  const readText = (sent: string): Promise<string[]> =>
    readAll(readBlocks(inPieces(Buffer.from(sent), [3, 9])));

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
    expect((await readText('data: a\n\n\n\r\n')).flatMap(parse)).toEqual([{ name: '', data: 'a' }]);
  });

  test('a last event without any line end counts where its data is complete', async () => {
    const last = async (sent: string) => (await readText(sent)).flatMap(parseEvents).at(-1)?.data;
    expect(await last('data: a\n\ndata: {"b":1}')).toBe('{"b":1}');
    expect(await last('data: a\n\nevent: x\ndata: {"b":\ndata: 1}')).toBe('{"b":\n1}');
    expect(await last('data: a\r\rdata: {"b":1}\r')).toBe('{"b":1}');
  });

  test('half an event is told as a broken stream, after the whole ones', async () => {
    const blocks = readBlocks(inPieces(Buffer.from('data: {"a":1}\n\ndata: {"b":'), [15]));
    expect(Buffer.from((await blocks.next()).value?.bytes ?? []).toString()).toBe('data: {"a":1}\n\n');
    await expect(blocks.next()).rejects.toThrow('within an event');
  });

  test('death is told, also within an event', async () => {
    const blocks = readBlocks(inPieces(Buffer.from('data: {"a":'), [], new Error('died')));
    await expect(blocks.next()).rejects.toThrow('died');
  });
});

test('an event that never ends is refused before it fills the memory', async () => {
  const piece = new Uint8Array(1_048_576).fill(0x61);
  const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
  const blocks = readBlocks(endless);
  await expect(blocks.next()).rejects.toThrow('too large');
});

test('data that is a JSON object is parsed; `[DONE]` and other data are not', () => {
  const chunks = parseEvents('data: {"a":1}\n\ndata: [DONE]\n\ndata: 5\n\ndata: {"a":\n\n').map(
    ({ chunk }) => chunk,
  );
  expect(chunks).toEqual([{ a: 1 }, undefined, undefined, undefined]);
});
