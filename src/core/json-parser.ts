// A JSON parser (RFC 8259) that keeps the digits of numbers, enforces limits, and works in resumable steps. It has no
// recursion, and its cost is linear. JSON.parse is faster, and is used where these properties are not needed.

import { isStorableNumber, keepDigits } from './json-number.ts';

/** Limits of a text: the depth of arrays and objects, and the number of values (members and items). */
export type JsonLimits = { nestingMax: number; valuesMax: number };

/** Why a text is refused: it is malformed, or exceeds a limit. */
export type JsonMistakeKind = 'syntax' | 'nesting' | 'values' | 'number';

/** The first mistake of a text, with the message of Python's decoder, which FastAPI answers. */
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

export type JsonParserOptions = JsonLimits & {
  /** Keeps numbers that neither a double nor the database can hold as text, instead of refusing them. */
  anyNumber?: boolean;
};

type Container = unknown[] | Record<string, unknown>;

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const FOUR_HEX_DIGITS = /[0-9a-fA-F]{4}/y;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Length of a piece of a string that is parsed in one step: a few tenths of a millisecond. */
const STRING_PIECE_LENGTH = 65_536;
const NONE = -1;

export class JsonParser {
  private readonly text: string;
  private readonly options: JsonParserOptions;
  private at = 0;
  private values = 0;
  private readonly containers: Container[] = [];
  /** For each container that is an object, the name of the member whose value is being parsed. */
  private readonly names: string[] = [];
  /** The string that is being parsed: its begin, its parsed part, and whether it is a member's name. */
  private stringAt = NONE;
  private stringSoFar = '';
  private stringIsName = false;
  private result: unknown;
  private done = false;

  constructor(text: string, options: JsonParserOptions) {
    this.text = text;
    this.options = options;
  }

  /**
   * Parses at most `values` more values, or one piece of a long string. Returns whether the end is reached; throws
   * JsonMistake.
   */
  advance(values: number): boolean {
    const until = this.values + values;
    if (this.stringAt !== NONE) this.parseStringPiece();
    while (!this.done && this.stringAt === NONE && this.values < until) this.parseValue();
    return this.done;
  }

  /** The parsed value, once `advance` has returned true. */
  value(): unknown {
    return this.result;
  }

  /** Parses from the start of a value to the start of the next one, or to the end of the text. */
  private parseValue(): void {
    if (++this.values > this.options.valuesMax)
      throw new JsonMistake('values', `More than ${this.options.valuesMax} values`, this.at);
    const code = this.skipBlanks();
    if (code === OPEN_BRACE) this.open({}, CLOSE_BRACE);
    else if (code === OPEN_BRACKET) this.open([], CLOSE_BRACKET);
    else if (code === QUOTE) this.parseString(false);
    else this.complete(this.parseScalar());
  }

  private open(container: Container, closer: number): void {
    if (this.containers.length === this.options.nestingMax)
      throw new JsonMistake('nesting', `Nesting deeper than ${this.options.nestingMax} levels`, this.at);
    this.at++;
    if (this.skipBlanks() === closer) {
      this.at++;
      this.complete(container);
      return;
    }
    this.containers.push(container);
    if (closer === CLOSE_BRACE) this.parseName();
  }

  /** Adds a finished value to its container, closes the containers that end after it, and moves to the next value. */
  private complete(finished: unknown): void {
    let value = finished;
    for (;;) {
      const container = this.containers.at(-1);
      const isList = Array.isArray(container);
      if (container === undefined) break;
      if (isList) container.push(value);
      else assign(container, this.names.pop() ?? '', value);
      const code = this.skipBlanks();
      if (code === COMMA) {
        this.toNext(isList);
        return;
      }
      if (code !== (isList ? CLOSE_BRACKET : CLOSE_BRACE)) throw syntax("Expecting ',' delimiter", this.at);
      this.at++;
      value = this.containers.pop();
    }
    this.end(value);
  }

  private toNext(isList: boolean): void {
    const comma = this.at++;
    const code = this.skipBlanks();
    if (code === (isList ? CLOSE_BRACKET : CLOSE_BRACE))
      throw syntax(`Illegal trailing comma before end of ${isList ? 'array' : 'object'}`, comma);
    if (!isList) this.parseName();
  }

  private end(value: unknown): void {
    this.skipBlanks();
    if (this.at < this.text.length) throw syntax('Extra data', this.at);
    this.result = value;
    this.done = true;
  }

  private parseName(): void {
    if (this.skipBlanks() !== QUOTE)
      throw syntax('Expecting property name enclosed in double quotes', this.at);
    this.parseString(true);
  }

  private parseScalar(): unknown {
    SCALAR.lastIndex = this.at;
    if (!SCALAR.test(this.text)) throw syntax('Expecting value', this.at);
    const start = this.at;
    this.at = SCALAR.lastIndex;
    const source = this.text.slice(start, this.at);
    if (source === 'true') return true;
    if (source === 'false') return false;
    if (source === 'null') return null;
    const value = Number(source);
    if (this.options.anyNumber !== true && !isStorableNumber(value, source))
      throw new JsonMistake('number', 'Number out of range', start);
    return keepDigits(value, source);
  }

  private parseString(isName: boolean): void {
    this.stringAt = this.at++;
    this.stringIsName = isName;
    this.parseStringPiece();
  }

  /** Parses to the end of the string, or to the begin of the next piece. */
  private parseStringPiece(): void {
    const { text } = this;
    const start = this.at;
    let escaped = false;
    let index = start;
    for (; index < start + STRING_PIECE_LENGTH; index++) {
      const code = text.charCodeAt(index);
      if (code === QUOTE) {
        this.at = index + 1;
        this.endString(this.stringSoFar + unescaped(text.slice(start, index), escaped));
        return;
      }
      if (code === BACKSLASH) {
        escaped = true;
        index = endOfEscape(text, index);
      } else if (code < 0x20) throw syntax('Invalid control character at', index);
      else if (Number.isNaN(code)) throw syntax('Unterminated string starting at', this.stringAt);
    }
    this.at = index;
    this.stringSoFar += unescaped(text.slice(start, this.at), escaped);
  }

  private endString(value: string): void {
    this.stringAt = NONE;
    this.stringSoFar = '';
    if (!this.stringIsName) {
      this.complete(value);
      return;
    }
    this.names.push(value);
    if (this.skipBlanks() !== COLON) throw syntax("Expecting ':' delimiter", this.at);
    this.at++;
  }

  /** The code of the next character that is not blank; NaN at the end of the text. */
  private skipBlanks(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at++;
    }
  }
}

const syntax = (message: string, index: number): JsonMistake => new JsonMistake('syntax', message, index);

const unescaped = (text: string, escaped: boolean): string =>
  escaped ? (JSON.parse(`"${text}"`) as string) : text;

/** The index of the last character of the escape that begins at `start`. */
function endOfEscape(text: string, start: number): number {
  const escaped = text.charAt(start + 1);
  if (escaped === 'u') {
    FOUR_HEX_DIGITS.lastIndex = start + 2;
    if (!FOUR_HEX_DIGITS.test(text)) throw syntax('Invalid \\uXXXX escape', start + 1);
    return start + 5;
  }
  if (escaped !== '' && !'"\\/bfnrt'.includes(escaped)) throw syntax('Invalid \\escape', start);
  return start + 1;
}

/** As JSON.parse: the last of two members of the same name counts, and `__proto__` is a name like any other. */
function assign(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
