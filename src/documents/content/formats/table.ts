// Comma-separated values (RFC 4180), and their relatives with other separators.

import type { Outline } from '../outline.ts';

const SEPARATORS = [',', ';', '\t', '|'] as const;

/** Rows of a table, of which the first names the columns where its cells are words. */
export function readTable(text: string, outline: Outline): void {
  const separator = separatorOf(text);
  let isFirst = true;
  for (const row of rowsOf(text, separator)) {
    if (isFirst && namesColumns(row)) outline.section([row.join(', ')]);
    isFirst = false;
    outline.row(row);
  }
}

export const namesColumns = (row: readonly string[]): boolean =>
  row.length > 1 && row.every((cell) => cell.length <= 80 && /\p{L}/u.test(cell));

/** The separator that the first lines have most often. */
function separatorOf(text: string): string {
  const sample = text.slice(0, 10_000).replaceAll(/"[^"]*"/g, '');
  const counts = SEPARATORS.map((separator) => sample.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
}

function* rowsOf(text: string, separator: string): Generator<string[]> {
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    const [cell, next] = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at, separator);
    row.push(cell);
    at = next;
    if (text[at] === separator) {
      at += 1;
      continue;
    }
    yield row;
    row = [];
    at += text.startsWith('\r\n', at) ? 2 : 1;
  }
  if (row.length > 0) yield row;
}

function plainCell(text: string, from: number, separator: string): [string, number] {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at++;
  return [text.slice(from, at), at];
}

/** A quote that nothing closes ends with its line, so that one stray quote does not swallow the rest. */
function quotedCell(text: string, from: number): [string, number] {
  let cell = '';
  for (let at = from + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote === -1) {
      const feed = text.indexOf('\n', from);
      const end = feed === -1 ? text.length : feed;
      return [text.slice(from + 1, end), end];
    }
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') return [cell, quote + 1];
    cell += '"';
    at = quote + 2;
  }
}
