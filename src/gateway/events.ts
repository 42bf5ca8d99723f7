// Server-sent events as blocks of whole events: no block ends inside an event.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import { isObject, parseJson } from '../core/json.ts';
import { EVENT_BYTES_MAX } from './limits.ts';

export type EventBlocks = {
  /** One or more whole events; undefined at the end. Rejects when the upstream fails, also within an event. */
  next(): Promise<Uint8Array | undefined>;
  cancel(reason?: unknown): void;
};

/** Receives the blocks of a stream; after `close` none follows. */
export type EventSink = { send(block: Uint8Array): void; close(): void };

/**
 * A stream that begins when it is given its sink. `pull` waits for a block or the end, and does not fail: a stream that
 * breaks off says so in its last event. `cancel` ends it before.
 */
export type EventStream = (sink: EventSink) => { pull(): Promise<void> | void; cancel(): void };

/** Texts as a client reads them, one block each. */
export const streamOf =
  (texts: readonly string[]): EventStream =>
  ({ send, close }) => {
    const left = texts.values();
    return {
      pull() {
        const { value, done } = left.next();
        if (done === true) close();
        else send(Buffer.from(value));
      },
      cancel: () => undefined,
    };
  };

/** The same stream; `onOver` is called when it has ended or is cancelled. */
export const whenOver =
  (stream: EventStream, onOver: () => void = () => undefined): EventStream =>
  ({ send, close }) => {
    const flow = stream({
      send,
      close() {
        onOver();
        close();
      },
    });
    return {
      pull: () => flow.pull(),
      cancel() {
        onOver();
        flow.cancel();
      },
    };
  };

/** The blocks of the stream, for a reader in this process. If the reader leaves, the stream is cancelled. */
export async function* iterate(stream: EventStream): AsyncGenerator<Uint8Array> {
  const blocks: Uint8Array[] = [];
  let isOver = false;
  const { pull, cancel } = stream({
    send: (block) => void blocks.push(block),
    close() {
      isOver = true;
    },
  });
  try {
    for (;;) {
      // Some may come while the reader is busy with others, the last one among them.
      while (blocks.length > 0) yield* blocks.splice(0);
      if (isOver) return;
      await pull();
    }
  } finally {
    cancel();
  }
}

/** The stream as the body of a response; it begins at once. */
export function toReadable(stream: EventStream): ReadableStream<Uint8Array> {
  let flow: ReturnType<EventStream>;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      flow = stream({
        send: (block) => controller.enqueue(block),
        close: () => controller.close(),
      });
    },
    pull: () => flow.pull(),
    cancel: () => flow.cancel(),
  });
}

class BrokenStream extends Error {}

export const LF = 0x0a;
export const CR = 0x0d;
const COLON = 0x3a;

/** The offset behind the last event that is whole; 0 where none is. */
function wholeUntil(bytes: Uint8Array): number {
  let lf = bytes.lastIndexOf(LF);
  let cr = bytes.lastIndexOf(CR);
  // Whichever line end is later; the other one is not searched again.
  for (let at = Math.max(lf, cr); at > 0; at = Math.max(lf, cr)) {
    if (endsEvent(bytes, at)) return at + 1;
    if (at === lf) lf = bytes.lastIndexOf(LF, at - 1);
    else cr = bytes.lastIndexOf(CR, at - 1);
  }
  return 0;
}

/** Whether the line that ends at this offset is blank. Lines end with LF, CRLF or CR. */
function endsEvent(bytes: Uint8Array, at: number): boolean {
  const before = bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1;
  if (bytes[before] !== LF && bytes[before] !== CR) return false;
  // A CR at the very end may be half of a CRLF, unless the lines before it end with CR alone.
  return bytes[at] === LF || at < bytes.length - 1 || bytes[before] === CR;
}

export function readEventBlocks(body: ReadableStream<Uint8Array>): EventBlocks {
  const reader = body.getReader();
  let partial: Uint8Array | undefined;
  // No async function: a stream has thousands of chunks, and most of them are whole events.
  const take = ({ value, done }: Chunk): Uint8Array | undefined | Promise<Uint8Array | undefined> => {
    if (done) {
      const rest = partial;
      partial = undefined;
      if (rest === undefined || isBlank(rest)) return undefined;
      // Servers that leave out the last blank line have said all there is to say.
      if (rest.at(-1) === LF || rest.at(-1) === CR) return Buffer.concat([rest, NEWLINE]);
      if (isComplete(rest)) return Buffer.concat([rest, NEWLINE, NEWLINE]);
      throw new BrokenStream('the stream ended within an event');
    }
    const bytes = partial === undefined ? value : Buffer.concat([partial, value]);
    const until = wholeUntil(bytes);
    if (until === bytes.length && until > 0) {
      partial = undefined;
      return bytes;
    }
    partial = bytes.subarray(until);
    if (partial.length > EVENT_BYTES_MAX) throw new BrokenStream('an event of the stream is too large');
    return until > 0 ? bytes.subarray(0, until) : next();
  };
  const next = (): Promise<Uint8Array | undefined> => reader.read().then(take);
  return {
    next,
    cancel(reason) {
      reader.cancel(reason).catch(() => undefined);
    },
  };
}

type Chunk = { done: false; value: Uint8Array } | { done: true; value?: Uint8Array | undefined };

/** The next block that says something: upstreams that queue send comments before they know whether they answer. */
export async function nextSaying(
  blocks: EventBlocks,
  onComment: () => void,
): Promise<Uint8Array | undefined> {
  for (;;) {
    const block = await blocks.next();
    if (block === undefined || block[0] !== COLON) return block;
    // A comment may also stand within an event.
    if (parseEvents(Buffer.from(block).toString()).length > 0) return block;
    onComment();
  }
}

/** As `blocks`, if the first one has been requested already. */
export function startingWith(coming: Promise<Uint8Array | undefined>, blocks: EventBlocks): EventBlocks {
  let first: Promise<Uint8Array | undefined> | undefined = coming;
  return {
    next() {
      const next = first ?? blocks.next();
      first = undefined;
      return next;
    },
    cancel: blocks.cancel,
  };
}

const NEWLINE = Buffer.from('\n');

/** Whether the data of the last event has come to its end: an object of JSON, or `[DONE]`. */
function isComplete(bytes: Uint8Array): boolean {
  const data = parseEvents(Buffer.from(bytes).toString()).at(-1)?.data;
  if (data === undefined || data === '[DONE]') return data !== undefined;
  try {
    return isObject(parseJson(data));
  } catch {
    return false;
  }
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === LF || byte === CR);

export const toEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** The event that ends a completion's stream. */
export const DONE = 'data: [DONE]\n\n';

/** A block's events as they stand, each with its blank line. */
export const splitEvents = (text: string): string[] => text.split(/(?<=(?:\n|\r(?!\n))(?:\r?\n|\r(?!\n)))/);

export type ServerSentEvent = { name: string; data: string };

/** The events of a block; comments are left out. */
export function parseEvents(text: string): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  const lines = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
  for (const block of lines.split('\n\n')) {
    let name = '';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      else if (line.startsWith('event:')) name = line.slice(6).trim();
    }
    if (data.length > 0) events.push({ name, data: data.join('\n') });
  }
  return events;
}

const FINISH_NAME = Buffer.from('"finish_reason":');
const [QUOTE, BLANK] = [0x22, 0x20];

/** Whether the finish reason is a text: in most blocks it is null. */
export function hasFinishReason(block: Uint8Array): boolean {
  const find = (from: number): number => Buffer.prototype.indexOf.call(block, FINISH_NAME, from);
  for (let at = find(0); at !== -1; at = find(at + 1)) {
    let value = at + FINISH_NAME.length;
    while ((block[value] ?? QUOTE) <= BLANK) value++;
    if (block[value] === QUOTE) return true;
  }
  return false;
}

const DONE_DATA = Buffer.from('[DONE]');

/** Somewhere within the block: comments may follow. */
export const hasDone = (block: Uint8Array): boolean =>
  Buffer.prototype.indexOf.call(block, DONE_DATA) !== -1 &&
  /(?:^|[\r\n])data: ?\[DONE\][\r\n]/.test(Buffer.from(block).toString('latin1'));
