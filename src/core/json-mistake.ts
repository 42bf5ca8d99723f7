// Limits of JSON texts, and the place of the first mistake in one, in the words of Python's decoder, which FastAPI answers.

/**
 * The depth of arrays and objects, and the number of values (members and items): `exactValuesMax` of them (default EXACT_VALUES_MAX) where a
 * number has more digits than a double keeps, because the engine parses such a text far more slowly.
 */
export type JsonLimits = { nestingMax: number; valuesMax: number; exactValuesMax?: number };

export const EXACT_VALUES_MAX = 131_072;

/** Why a text is refused: it is malformed, or exceeds a limit. */
export type JsonMistakeKind = 'syntax' | 'nesting' | 'values' | 'digits' | 'number';

export class JsonMistake extends Error {
  readonly kind: JsonMistakeKind;
  /** In UTF-16 code units from the start of the text. */
  readonly index: number;

  constructor(kind: JsonMistakeKind, message: string, index: number) {
    super(message);
    this.kind = kind;
    this.index = index;
  }
}

/** Characters that are looked at between two yields: a fraction of a millisecond. */
const STEP_LENGTH = 65_536;

/** Whether a text that is well-formed is within the limits: counts brackets and commas outside of strings. Yields so that other work can go on. */
export function* isWithin(text: string, { nestingMax, valuesMax }: JsonLimits): Generator<void, boolean> {
  // Each level and each value takes a character.
  if (text.length <= nestingMax && text.length <= valuesMax) return true;
  let depth = 0;
  let values = 1;
  let pauseAt = STEP_LENGTH;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) index = endOfString(text, index);
    else if (code === 0x2c) values++;
    else if (code === 0x5b || code === 0x7b) {
      values++;
      if (++depth > nestingMax) return false;
    } else if (code === 0x5d || code === 0x7d) depth--;
    if (index < pauseAt) continue;
    if (values > valuesMax) return false;
    pauseAt = index + STEP_LENGTH;
    yield;
  }
  return values <= valuesMax;
}

/** The index of the quote that closes the string opened at `start`, or the text's end. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

const BLANKS = /[ \t\n\r]*/y;
const SCALAR = /(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|true|false|null/y;
/** Anything but controls, `"` and `\`. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Throws the first mistake of a text. Yields so that other work can go on. `isStorable`: whether the number is one that is taken. */
export function* checkJson(
  text: string,
  { nestingMax, valuesMax }: JsonLimits,
  isStorable: (value: number, source: string) => boolean,
): Generator<void, void> {
  let at = 0;
  const closers: string[] = [];
  /** Moves behind what the pattern fits; null where it does not fit here. */
  const skip = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  /** Whether the next sign that is no blank is this one; then moves behind it. */
  const takes = (sign: string): boolean => {
    skip(BLANKS);
    const found = text.charAt(at) === sign;
    if (found) at++;
    return found;
  };
  const fail = (message: string, index = at, kind: JsonMistakeKind = 'syntax'): never => {
    throw new JsonMistake(kind, message, index);
  };
  /** The rest of a string whose quote has been taken. */
  function* checkString(): Generator<void, void> {
    const start = at - 1;
    for (let parts = 1; ; parts++) {
      if (parts % 1000 === 0) yield;
      skip(PLAIN);
      const sign = text.charAt(at);
      if (sign === '"') break;
      if (sign === '' || at + 1 === text.length) fail('Unterminated string starting at', start);
      if (sign !== '\\') fail('Invalid control character at');
      if (skip(ESCAPE) !== null) continue;
      if (text.charAt(at + 1) === 'u') fail('Invalid \\uXXXX escape', at + 1);
      fail('Invalid \\escape');
    }
    at++;
  }
  function* checkName(): Generator<void, void> {
    if (!takes('"')) fail('Expecting property name enclosed in double quotes');
    yield* checkString();
    if (!takes(':')) fail("Expecting ':' delimiter");
  }
  /** Whether a container has been opened that is not empty: then its first value follows. */
  function* checkValue(): Generator<void, boolean> {
    const closer = takes('{') ? '}' : takes('[') ? ']' : undefined;
    if (closer !== undefined) {
      if (closers.length === nestingMax) fail(`Nesting deeper than ${nestingMax} levels`, at - 1, 'nesting');
      if (takes(closer)) return false;
      closers.push(closer);
      if (closer === '}') yield* checkName();
      return true;
    }
    if (takes('"')) yield* checkString();
    else {
      const number = (skip(SCALAR) ?? fail('Expecting value'))[1];
      if (number !== undefined && !isStorable(Number(number), number))
        fail('Number out of range', at - number.length, 'number');
    }
    return false;
  }
  for (let values = 1; ; values++) {
    if (values > valuesMax) fail(`More than ${valuesMax} values`, at, 'values');
    if (values % 1000 === 0) yield;
    if (yield* checkValue()) continue;
    while (closers.length > 0 && takes(closers.at(-1) ?? '')) closers.pop();
    if (closers.length === 0) break;
    if (!takes(',')) fail("Expecting ',' delimiter");
    const comma = at - 1;
    const closer = closers.at(-1) ?? '';
    const kind = closer === '}' ? 'object' : 'array';
    if (takes(closer)) fail(`Illegal trailing comma before end of ${kind}`, comma);
    if (closer === '}') yield* checkName();
  }
  skip(BLANKS);
  if (at < text.length) fail('Extra data');
}
