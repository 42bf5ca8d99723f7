// The outer members of a JSON object, found in its bytes without building anything of it.

import { parseJson } from '../core/json.ts';

export type Members = {
  /** Decoded names, in order, repeats included. */
  names: string[];
  /** Byte offsets of each value, the end exclusive. */
  starts: number[];
  ends: number[];
};

const NESTING_MAX = 512;

const utf8 = new TextDecoder();

/**
 * Where each outer member's value stands. Undefined for bytes that are no JSON object; what stands within strings is
 * not looked at (escapes and encoding are left to whoever reads them).
 */
export function scanObject(bytes: Uint8Array): Members | undefined {
  const members: Members = { names: [], starts: [], ends: [] };
  let at = skipBlank(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return undefined;
  at = skipBlank(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return skipBlank(bytes, at + 1) === bytes.length ? members : undefined;
  for (;;) {
    if (bytes[at] !== QUOTE) return undefined;
    const nameEnd = skipString(bytes, at);
    if (nameEnd === -1) return undefined;
    const name = decodeString(bytes, at, nameEnd);
    at = skipBlank(bytes, nameEnd);
    if (name === undefined || bytes[at] !== COLON) return undefined;
    const start = skipBlank(bytes, at + 1);
    const end = skipValue(bytes, start);
    if (end === -1) return undefined;
    members.names.push(name);
    members.starts.push(start);
    members.ends.push(end);
    at = skipBlank(bytes, end);
    if (bytes[at] === CLOSE_BRACE) break;
    if (bytes[at] !== COMMA) return undefined;
    at = skipBlank(bytes, at + 1);
  }
  return skipBlank(bytes, at + 1) === bytes.length ? members : undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The offset behind the string that opens at `from`; -1 where it does not close. */
function skipString(bytes: Uint8Array, from: number): number {
  // Most strings are short; long ones (pictures, documents) are searched natively.
  const near = Math.min(bytes.length, from + 64);
  let at = from + 1;
  for (; at < near; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
    else if (byte !== undefined && byte < 0x20) return -1;
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return -1;
    let first = quote;
    while (first > at && bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** The text of the string that opens at `start`; undefined for what is none. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string | undefined {
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH || byte >= 0x80 || byte < 0x20) return decodeOddString(bytes, start, end);
  }
  return latin1Slice.call(bytes, start + 1, end - 1);
}

/** Bun's quickest way from ASCII bytes to text. */
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice: (this: Uint8Array, start: number, end: number) => string;
};

function decodeOddString(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    const name: unknown = parseJson(utf8.decode(bytes.subarray(start, end)));
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

/** The offset behind the value at `from`; -1 for what is none. */
function skipValue(bytes: Uint8Array, from: number): number {
  const byte = bytes[from];
  if (byte === QUOTE) return skipString(bytes, from);
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return skipNested(bytes, from);
  return skipScalar(bytes, from);
}

const WORDS = ['true', 'false', 'null'].map((word) => new TextEncoder().encode(word));

function skipScalar(bytes: Uint8Array, from: number): number {
  const first = bytes[from] ?? 0;
  if (first === 0x2d || (first >= 0x30 && first <= 0x39)) return skipNumber(bytes, from);
  for (const word of WORDS) {
    if (first === word[0])
      return word.every((byte, index) => bytes[from + index] === byte) ? from + word.length : -1;
  }
  return -1;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

function skipNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  if (!isDigit(bytes[at])) return -1;
  if (bytes[at] === 0x30) at++;
  else at = skipDigits(bytes, at);
  if (bytes[at] === 0x2e) {
    if (!isDigit(bytes[at + 1])) return -1;
    at = skipDigits(bytes, at + 1);
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
    if (!isDigit(bytes[at])) return -1;
    at = skipDigits(bytes, at);
  }
  return at;
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at++;
  return at;
}

/** Objects and arrays, without recursion; the stack holds what closes each. */
function skipNested(bytes: Uint8Array, from: number): number {
  const closers: number[] = [];
  let at = from;
  for (;;) {
    // A value begins here.
    const byte = bytes[at];
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (closers.length === NESTING_MAX) return -1;
      const closer = byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      at = skipBlank(bytes, at + 1);
      if (bytes[at] !== closer) {
        closers.push(closer);
        at = closer === CLOSE_BRACE ? skipName(bytes, at) : at;
        if (at === -1) return -1;
        continue;
      }
      at++;
    } else {
      at = byte === QUOTE ? skipString(bytes, at) : skipScalar(bytes, at);
      if (at === -1) return -1;
    }
    // A value has ended: close what it ends, up to the next value.
    for (;;) {
      const closer = closers.at(-1);
      if (closer === undefined) return at;
      at = skipBlank(bytes, at);
      if (bytes[at] === COMMA) {
        at = skipBlank(bytes, at + 1);
        if (closer === CLOSE_BRACE) at = skipName(bytes, at);
        if (at === -1) return -1;
        break;
      }
      if (bytes[at] !== closer) return -1;
      closers.pop();
      at++;
    }
  }
}

/** From a member's name to its value; -1 where neither is. */
function skipName(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== QUOTE) return -1;
  const end = skipString(bytes, from);
  if (end === -1) return -1;
  const colon = skipBlank(bytes, end);
  return bytes[colon] === COLON ? skipBlank(bytes, colon + 1) : -1;
}
