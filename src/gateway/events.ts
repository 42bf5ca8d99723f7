// Server-sent events as blocks of whole events: no block ends inside an event.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

import { nextTimeSlice } from '../core/time-slices.ts';
import { EVENT_BYTES_MAX, STREAM_BLOCK_UNITS } from './limits.ts';

export type EventBlocks = {
  /** One or more whole events; undefined at the end. Rejects when the upstream fails, also within an event. */
  next(): Promise<Uint8Array | undefined>;
  cancel(reason?: unknown): void;
};

class BrokenStream extends Error {}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

/** The offset behind the last event that is whole; 0 where none is. */
function wholeUntil(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at = bytes.lastIndexOf(LF, at - 1)) {
    if (bytes[at] !== LF) continue;
    if (bytes[at - 1] === LF || (bytes[at - 1] === CR && bytes[at - 2] === LF)) return at + 1;
  }
  return 0;
}

export function readEventBlocks(body: ReadableStream<Uint8Array>): EventBlocks {
  const reader = body.getReader();
  let partial: Uint8Array | undefined;
  return {
    async next() {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) {
          const rest = partial;
          partial = undefined;
          if (rest === undefined || isBlank(rest)) return undefined;
          // Servers that leave out the last blank line have said all there is to say.
          if (rest.at(-1) === LF) return Buffer.concat([rest, NEWLINE]);
          if (isDone(rest)) return Buffer.concat([rest, NEWLINE, NEWLINE]);
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
        if (until > 0) return bytes.subarray(0, until);
      }
    },
    cancel(reason) {
      reader.cancel(reason).catch(() => undefined);
    },
  };
}

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

/**
 * Events that are made as they are read, a block in each time slice, so that a long stream does not delay other requests.
 * Cancelling ends the iteration.
 */
export function blocksOf(events: Iterable<string>): EventBlocks {
  const left = events[Symbol.iterator]();
  let begun = false;
  return {
    async next() {
      if (begun) await nextTimeSlice();
      begun = true;
      let text = '';
      while (text.length < STREAM_BLOCK_UNITS) {
        const { value, done } = left.next();
        if (done === true) break;
        text += value;
      }
      return text === '' ? undefined : Buffer.from(text);
    },
    cancel: () => {
      left.return?.();
    },
  };
}

const NEWLINE = Buffer.from('\n');

const isDone = (bytes: Uint8Array): boolean =>
  bytes.length < 16 && /^data: ?\[DONE\]$/.test(Buffer.from(bytes).toString('latin1'));

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === LF || byte === CR);

/** A block's events as they stand, each with its blank line. */
export const splitEvents = (text: string): string[] => text.split(/(?<=\r?\n\r?\n)/);

export type ServerSentEvent = { name: string; data: string };

/** The events of a block; comments are left out. */
export function parseEvents(text: string): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  for (const block of text.split(/\r?\n\r?\n/)) {
    let name = '';
    const data: string[] = [];
    for (const line of block.split(/\r?\n/)) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      else if (line.startsWith('event:')) name = line.slice(6).trim();
    }
    if (data.length > 0) events.push({ name, data: data.join('\n') });
  }
  return events;
}
