// Server-sent events in blocks of whole events: no block ends within an event.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import { createParser } from 'eventsource-parser';
import { isObject, type JsonObject } from '../core/json.ts';
import { EVENT_BYTES_MAX } from './limits.ts';

/** `chunk`: the data, if it is a JSON object; its numbers may have lost digits. */
export type StreamEvent = { name: string; data: string; chunk: JsonObject | undefined };

/** The bytes of one or more events as they came, and what they say. Comments are in the bytes alone. */
export type EventBlock = { bytes: Uint8Array; events: readonly StreamEvent[] };

/** The event that ends the stream of a completion. */
export const DONE = 'data: [DONE]\n\n';

export const toEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** An event that was read, as text. */
export function renderEvent({ name, data }: StreamEvent): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `${name === '' ? '' : `event: ${name}\n`}${lines.join('')}\n`;
}

const utf8 = new TextDecoder();

export const toBlock = (bytes: Uint8Array): EventBlock => ({
  bytes,
  events: parseEvents(utf8.decode(bytes)),
});

/** The events of a text; comments are left out. */
export function parseEvents(text: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event = '', data }) => void events.push({ name: event, data, chunk: parseChunk(data) }),
  });
  // The parser waits for what follows a CR at the end; here nothing follows.
  parser.feed(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text);
  return events;
}

function parseChunk(data: string): JsonObject | undefined {
  try {
    const chunk: unknown = data === '[DONE]' ? undefined : JSON.parse(data);
    return isObject(chunk) ? chunk : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the body of an upstream's answer. Throws when the upstream fails, also within an event. */
export async function* readBlocks(body: ReadableStream<Uint8Array>): AsyncGenerator<EventBlock, undefined> {
  let partial: Uint8Array = new Uint8Array();
  for await (const value of body as unknown as AsyncIterable<Uint8Array>) {
    const bytes = partial.length === 0 ? value : Buffer.concat([partial, value]);
    const end = endOfEvents(bytes, partial.length);
    partial = bytes.subarray(end);
    if (partial.length > EVENT_BYTES_MAX) throw new Error('an event of the stream is too large');
    if (end > 0) yield toBlock(bytes.subarray(0, end));
  }
  const last = completed(partial);
  if (last !== undefined) yield toBlock(last);
}

const [LF, CR] = [0x0a, 0x0d];
const isLineEnd = (byte: number | undefined): boolean => byte === LF || byte === CR;

/** The offset behind the last whole event; 0 if there is none. The first `known` bytes hold none. */
function endOfEvents(bytes: Uint8Array, known: number): number {
  for (let at = bytes.length - 1; at > 0 && at >= known - 1; at--) {
    if (isLineEnd(bytes[at]) && endsEvent(bytes, at)) return at + 1;
  }
  return 0;
}

/** Whether the line that ends at this offset is blank. Lines end with LF, CRLF or CR. */
function endsEvent(bytes: Uint8Array, at: number): boolean {
  const before = bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1;
  if (!isLineEnd(bytes[before])) return false;
  // A CR at the very end may be half of a CRLF, unless the lines before it end with CR alone.
  return bytes[at] === LF || at < bytes.length - 1 || bytes[before] === CR;
}

/** What is left at the end of a stream, as an event: some servers leave out the last blank line. Throws for half an event. */
function completed(rest: Uint8Array): Uint8Array | undefined {
  if (rest.every(isLineEnd)) return undefined;
  const whole = Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n')]);
  const last = isLineEnd(rest.at(-1)) ? undefined : parseEvents(utf8.decode(whole)).at(-1);
  if (last !== undefined && last.chunk === undefined && last.data !== '[DONE]')
    throw new Error('the stream ended within an event');
  return whole;
}

/** The same blocks, if the first one has been requested already. */
export async function* startingWith(
  coming: Promise<EventBlock | undefined>,
  further: AsyncGenerator<EventBlock, undefined>,
): AsyncGenerator<EventBlock, undefined> {
  const first = await coming;
  if (first !== undefined) yield first;
  yield* further;
}
