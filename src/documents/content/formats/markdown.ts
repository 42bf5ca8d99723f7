// Markdown, by its lines: headings, paragraphs, items, tables and code are distinguished; marks within a line stay.

import type { Outline } from '../outline.ts';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/;
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/;
const ROW = /^ {0,3}\|(.*)\|[ \t]*$/;
const RULE = /^[\s|:-]+$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;

export function readMarkdown(text: string, outline: Outline): void {
  const lines = withoutFrontMatter(text.replaceAll(/\r\n?|\u2028|\u2029/g, '\n')).split('\n');
  let open: string[] = [];
  const close = (): void => {
    if (open.length > 0) outline.paragraph(open.join('\n'));
    open = [];
  };
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line);
    const row = ROW.exec(line)?.[1];
    const item = ITEM.exec(line);
    if (fence !== undefined) {
      close();
      let last = index + 1;
      while (last < lines.length && lines[last]?.trim().startsWith(fence) !== true) last++;
      outline.lines(lines.slice(index + 1, last).join('\n'));
      index = last;
    } else if (heading !== null) {
      close();
      outline.heading(heading[1]?.length ?? 1, withoutClosingMarks(heading[2] ?? ''));
    } else if (row !== undefined) {
      close();
      if (!RULE.test(row)) outline.row(row.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|')));
    } else if (item !== null) {
      close();
      outline.item(Math.floor((item[1]?.length ?? 0) / 2), item[2] ?? '');
    } else if (open.length === 1 && UNDERLINE.test(line)) {
      outline.heading(line.trim().startsWith('=') ? 1 : 2, open[0] ?? '');
      open = [];
    } else if (line.trim() === '') {
      close();
      outline.interrupt();
    } else open.push(line);
  }
  close();
}

/** A heading may end with blanks and number signs, as it begins. */
function withoutClosingMarks(heading: string): string {
  const text = ` ${heading.trim()}`;
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return /[ \t]/.test(text[end - 1] ?? '') ? text.slice(0, end) : text;
}

const withoutFrontMatter = (text: string): string =>
  text.replace(/^---\n[\s\S]{0,10000}?\n---[ \t]*(?:\n|$)/, '');
