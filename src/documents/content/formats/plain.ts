import type { Outline } from '../outline.ts';

/** Paragraphs are divided by blank lines, pages by form feeds. */
export function readPlainText(text: string, outline: Outline): void {
  const pages = text.replaceAll(/\r\n?/g, '\n').split('\f');
  for (const page of pages) {
    if (pages.length > 1) outline.page();
    for (const paragraph of page.split(/\n[^\S\n]*\n\s*/)) {
      if (isListing(paragraph)) outline.lines(paragraph, { fenced: false });
      else outline.paragraph(paragraph);
    }
  }
}

/** Many short lines: a log, a list, verses. Their lines are kept whole, where sentences would not be found. */
function isListing(paragraph: string): boolean {
  const lines = paragraph.split('\n', 50);
  return (
    lines.length >= 3 &&
    lines.filter((line) => /[.!?。！？।]["'”’)]?\s*$/.test(line)).length * 4 < lines.length
  );
}
