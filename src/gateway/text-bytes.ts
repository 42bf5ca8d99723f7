// How much a model has said, by the bytes of an answer or of a block of its stream, without parsing them.

import { decodeString, skipBlank, skipString } from './scan.ts';

const CHOICES = Buffer.from('"choices":');
const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [BRACE, BRACKET] = [0x7b, 0x5b];

/** Strings that a server writes, not its model. */
const LABELS: ReadonlySet<string> = new Set(
  'role id type object format finish_reason native_finish_reason stop_reason signature'.split(' '),
);
/** Members that repeat a text which stands elsewhere. */
const REPETITIONS: ReadonlySet<string> = new Set(['logprobs', 'reasoning_details']);

/** A longer string is a picture or a sound where it is a `data:` URL; its escapes are not looked for. */
const LONG_BYTES = 65_536;
/** What a picture counts as: 1,000 tokens. */
const PICTURE_BYTES = 4000;

/** UTF-8 bytes of all texts within `choices`: answers, refusals, thoughts and arguments of tools. */
export function countTextBytes(bytes: Uint8Array): number {
  const find = (from: number): number => Buffer.prototype.indexOf.call(bytes, CHOICES, from);
  let count = 0;
  for (let at = find(0); at !== -1; at = find(at)) {
    const value = skipBlank(bytes, at + CHOICES.length);
    const counted = countWithin(bytes, value);
    count += counted.count;
    at = Math.max(counted.end, at + CHOICES.length);
  }
  return count;
}

/** Within the object or array that stands at `from`. */
function countWithin(bytes: Uint8Array, from: number): { count: number; end: number } {
  let count = 0;
  let depth = 0;
  let name = '';
  /** The depth of the repetition that is passed over. */
  let silentDepth = Number.POSITIVE_INFINITY;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const end = skipString(bytes, at);
      if (end < 0) return { count, end: bytes.length };
      if (bytes[skipBlank(bytes, end)] === COLON) {
        name = decodeString(bytes, at, end) ?? '';
        if (REPETITIONS.has(name) && depth < silentDepth) silentDepth = depth;
      } else if (depth <= silentDepth && !REPETITIONS.has(name) && !LABELS.has(name)) {
        count += measureText(bytes, at + 1, end - 1);
      }
      at = end;
      continue;
    }
    if (byte === BRACE || byte === BRACKET) depth++;
    else if (byte === BRACE + 2 || byte === BRACKET + 2) {
      depth--;
      if (depth <= silentDepth) silentDepth = Number.POSITIVE_INFINITY;
      if (depth <= 0) return { count, end: at + 1 };
    }
    at++;
  }
  return { count, end: at };
}

/** Bytes of a JSON string as UTF-8: an escape is one byte, or those of its character. */
function measureText(bytes: Uint8Array, start: number, end: number): number {
  let length = end - start;
  if (length > 256 && Buffer.from(bytes.subarray(start, start + 5)).toString('latin1') === 'data:')
    return PICTURE_BYTES;
  if (length > LONG_BYTES) return length;
  for (let at = start; at < end; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    at++;
    if (bytes[at] !== 0x75) length -= 1;
    else {
      const code = Number.parseInt(Buffer.from(bytes.subarray(at + 1, at + 5)).toString('latin1'), 16);
      // Half of a surrogate pair is half of four bytes.
      length -= 6 - (code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3);
      at += 4;
    }
  }
  return length;
}
