// Where malformed JSON goes wrong, in the words of Python's decoder (which FastAPI's answers carry).
// Runs only after JSON.parse has refused the text.

/** The first mistake in JSON text: its offset in characters (code points, as Python counts) and its name. */
export function locateJsonError(text: string): { offset: number; error: string } {
  try {
    const end = skipBlanks(text, scanValue(text, skipBlanks(text, 0)));
    return {
      offset: codePointsBefore(text, end),
      error: end < text.length ? 'Extra data' : 'Expecting value',
    };
  } catch (error) {
    if (error instanceof Mistake)
      return { offset: codePointsBefore(text, error.offset), error: error.message };
    throw error;
  }
}

const codePointsBefore = (text: string, index: number): number => [...text.slice(0, index)].length;

class Mistake extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

function skipBlanks(text: string, start: number): number {
  let index = start;
  while (' \t\n\r'.includes(text.charAt(index)) && index < text.length) index++;
  return index;
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Scans one value; returns the offset behind it. Nesting is bounded before this runs. */
function scanValue(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '{') return scanObject(text, start);
  if (first === '[') return scanArray(text, start);
  if (first === '"') return scanString(text, start);
  SCALAR.lastIndex = start;
  if (!SCALAR.test(text)) throw new Mistake('Expecting value', start);
  return SCALAR.lastIndex;
}

function scanArray(text: string, start: number): number {
  let index = skipBlanks(text, start + 1);
  if (text.charAt(index) === ']') return index + 1;
  for (;;) {
    index = skipBlanks(text, scanValue(text, index));
    if (text.charAt(index) === ']') return index + 1;
    if (text.charAt(index) !== ',') throw new Mistake("Expecting ',' delimiter", index);
    const comma = index;
    index = skipBlanks(text, index + 1);
    if (text.charAt(index) === ']') throw new Mistake('Illegal trailing comma before end of array', comma);
  }
}

function scanObject(text: string, start: number): number {
  let index = skipBlanks(text, start + 1);
  if (text.charAt(index) === '}') return index + 1;
  for (;;) {
    if (text.charAt(index) !== '"') {
      throw new Mistake('Expecting property name enclosed in double quotes', index);
    }
    index = skipBlanks(text, scanString(text, index));
    if (text.charAt(index) !== ':') throw new Mistake("Expecting ':' delimiter", index);
    index = skipBlanks(text, scanValue(text, skipBlanks(text, index + 1)));
    if (text.charAt(index) === '}') return index + 1;
    if (text.charAt(index) !== ',') throw new Mistake("Expecting ',' delimiter", index);
    const comma = index;
    index = skipBlanks(text, index + 1);
    if (text.charAt(index) === '}') throw new Mistake('Illegal trailing comma before end of object', comma);
  }
}

function scanString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === '"') return index + 1;
    if (character < ' ') throw new Mistake('Invalid control character at', index);
    if (character !== '\\') continue;
    index++;
    const escaped = text.charAt(index);
    if (escaped === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(text.slice(index + 1, index + 5))) {
        throw new Mistake('Invalid \\uXXXX escape', index);
      }
      index += 4;
    } else if (escaped !== '' && !'"\\/bfnrt'.includes(escaped))
      throw new Mistake('Invalid \\escape', index - 1);
  }
  throw new Mistake('Unterminated string starting at', start);
}
