// JSON, and JSON by lines: each value in a line of its own, after its path, so that a passage says what it is of.

import { isRawNumber, parseJsonWithin } from '../../../core/json.ts';
import { JsonMistake } from '../../../core/json-mistake.ts';
import type { Outline } from '../outline.ts';
import { readPlainText } from './plain.ts';

const LIMITS = {
  nestingMax: 200,
  valuesMax: 4_000_000,
  exactValuesMax: 4_000_000,
  linesMax: 1_000_000,
  anyNumber: true,
};
/** Lines that are stated at once, and their length: each repeats its path, which may be long. */
const LINES_A_BLOCK = 1000;
const BLOCK_LENGTH = 65_536;

/** Text that is no JSON, or nested too deep, is read as plain text. */
export async function readJson(text: string, outline: Outline): Promise<void> {
  const values = await valuesOf(text);
  if (values === undefined) return readPlainText(text, outline);
  let lines: string[] = [];
  let length = 0;
  const flush = (): void => {
    outline.lines(lines.join('\n'), { fenced: false });
    outline.interrupt();
    lines = [];
    length = 0;
  };
  const write = (line: string): void => {
    lines.push(line);
    length += line.length;
    if (lines.length >= LINES_A_BLOCK || length >= BLOCK_LENGTH) flush();
  };
  for (const value of values) {
    writeLines(value, '', write);
    if (values.length > 1) flush();
  }
  flush();
}

async function valuesOf(text: string): Promise<unknown[] | undefined> {
  try {
    return [await parseJsonWithin(text, LIMITS)];
  } catch (error) {
    if (!(error instanceof JsonMistake)) throw error;
  }
  const lines = text.split('\n', LIMITS.linesMax + 1).filter((line) => line.trim() !== '');
  if (lines.length < 2 || lines.length > LIMITS.linesMax) return undefined;
  const values: unknown[] = [];
  try {
    for (const line of lines) values.push(await parseJsonWithin(line, LIMITS));
  } catch (error) {
    if (error instanceof JsonMistake) return undefined;
    throw error;
  }
  return values;
}

/** Recursion is as deep as values are nested. */
function writeLines(value: unknown, path: string, write: (line: string) => void): void {
  if (isRawNumber(value)) write(`${path}: ${value.rawJSON}`);
  else if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== 'object' || item === null))
      write(label(path, value.join(', ')));
    else for (const [index, item] of value.entries()) writeLines(item, `${path}[${index}]`, write);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value))
      writeLines(member, path === '' ? name : `${path}.${name}`, write);
  } else write(label(path, String(value)));
}

const label = (path: string, text: string): string =>
  `${path === '' ? '' : `${path}: `}${text.replaceAll(/\s+/g, ' ')}`;
