// The outer members of a JSON object, found in its bytes without building anything of it.

import { parseJson } from '../core/json.ts';

export type Members = {
  /** Decoded names, in order, repeats included. */
  names: string[];
  /** Byte offsets of each value, the end exclusive. */
  starts: number[];
  ends: number[];
};

/** Limits of an object: nesting, values within its members, members, and bytes of a member's name. */
export type ScanLimits = { nestingMax: number; valuesMax: number; membersMax: number; nameBytesMax: number };

/** Why bytes are no object, or none within the limits. */
export type ScanRefusal = 'malformed' | 'nesting' | 'values' | 'members' | 'name';

export const NO_LIMITS: ScanLimits = {
  nestingMax: 512,
  valuesMax: Number.POSITIVE_INFINITY,
  membersMax: Number.POSITIVE_INFINITY,
  nameBytesMax: Number.POSITIVE_INFINITY,
};

const utf8 = new TextDecoder();

/**
 * The positions of the outer members' values, or the reason why the bytes are refused. Escapes and encoding of strings
 * are checked where they are decoded.
 */
export function scanObject(bytes: Uint8Array, limits: ScanLimits = NO_LIMITS): Members | ScanRefusal {
  const members: Members = { names: [], starts: [], ends: [] };
  const budget = { ...limits };
  let at = skipBlank(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return 'malformed';
  at = skipBlank(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return skipBlank(bytes, at + 1) === bytes.length ? members : 'malformed';
  for (;;) {
    if (bytes[at] !== QUOTE) return 'malformed';
    const nameEnd = skipString(bytes, at);
    if (nameEnd < 0) return 'malformed';
    if (members.names.length === limits.membersMax) return 'members';
    if (nameEnd - at > limits.nameBytesMax) return 'name';
    const name = decodeString(bytes, at, nameEnd);
    at = skipBlank(bytes, nameEnd);
    if (name === undefined || bytes[at] !== COLON) return 'malformed';
    const start = skipBlank(bytes, at + 1);
    const end = skipValue(bytes, start, budget);
    if (end < 0) return end === TOO_DEEP ? 'nesting' : end === TOO_MANY ? 'values' : 'malformed';
    members.names.push(name);
    members.starts.push(start);
    members.ends.push(end);
    at = skipBlank(bytes, end);
    if (bytes[at] === CLOSE_BRACE) break;
    if (bytes[at] !== COMMA) return 'malformed';
    at = skipBlank(bytes, at + 1);
  }
  return skipBlank(bytes, at + 1) === bytes.length ? members : 'malformed';
}

/** Returned instead of an offset, like -1 for invalid JSON. */
const TOO_DEEP = -2;
const TOO_MANY = -3;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The offset behind the string that opens at `from`; -1 where it does not close. */
export function skipString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (;;) {
    // Most strings are short, and some are full of escapes; long plain ones (pictures) are searched natively.
    for (const near = Math.min(bytes.length, at + NEAR_BYTES); at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at++;
      else if (byte !== undefined && byte < 0x20) return -1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return -1;
    let first = quote;
    while (first > at && bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

const NEAR_BYTES = 64;

/** The text of the string that opens at `start`; undefined for an invalid one. */
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

/** The remaining limits. */
type Budget = { readonly nestingMax: number; valuesMax: number };

/** The offset behind the value at `from`; negative for an invalid one. */
function skipValue(bytes: Uint8Array, from: number, budget: Budget): number {
  const byte = bytes[from];
  if (byte === QUOTE) return skipString(bytes, from);
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return skipNested(bytes, from, budget);
  return skipScalar(bytes, from);
}

/** Values in the array that stands at `start`, of bytes that have been scanned; 0 where none stands there. */
export function countItems(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== OPEN_BRACKET) return 0;
  const budget = { ...NO_LIMITS };
  let at = skipBlank(bytes, start + 1);
  if (bytes[at] === CLOSE_BRACKET) return 0;
  for (let count = 1; ; count++) {
    at = skipBlank(bytes, skipValue(bytes, at, budget));
    if (bytes[at] !== COMMA) return count;
    at = skipBlank(bytes, at + 1);
  }
}

/** Members of all objects within bytes that have been scanned, repeats included: each has its colon. */
export function countWrittenMembers(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COLON) count++;
    else if (byte === QUOTE) at = skipString(bytes, at) - 1;
  }
  return count;
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

/** Objects and arrays, without recursion; the stack contains the closing character of each. */
function skipNested(bytes: Uint8Array, from: number, budget: Budget): number {
  const closers: number[] = [];
  let at = from;
  for (;;) {
    // A value begins here.
    if (--budget.valuesMax < 0) return TOO_MANY;
    const byte = bytes[at];
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (closers.length === budget.nestingMax) return TOO_DEEP;
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
    // A value has ended: close the objects and arrays that end here, up to the next value.
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
