// Markdown, by its lines: headings, paragraphs, items, tables and code are told apart; marks within a line stay.

import type { Outline } from '../outline.ts';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/;
const ROW = /^ {0,3}\|(.*)\|[ \t]*$/;
const RULE = /^[\s|:-]+$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;

export function readMarkdown(text: string, outline: Outline): void {
  const lines = withoutFrontMatter(text.replaceAll(/\r\n?/g, '\n')).split('\n');
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
      const end = lines.findIndex((each, at) => at > index && each.trim().startsWith(fence));
      const last = end === -1 ? lines.length : end;
      outline.lines(lines.slice(index + 1, last).join('\n'));
      index = last;
    } else if (heading !== null) {
      close();
      outline.heading(heading[1]?.length ?? 1, heading[2] ?? '');
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

const withoutFrontMatter = (text: string): string =>
  text.replace(/^---\n[\s\S]{0,10000}?\n---[ \t]*(?:\n|$)/, '');
