// PDF: the text layer, page by page. Scans have none. Scripts and forms are not run, and fonts and images not loaded.

import { dirname, join } from 'node:path';
import { getDocumentProxy } from 'unpdf';
import type { Outline } from '../outline.ts';
import { Unreadable } from '../unreadable.ts';
import { withoutColumns } from './pdf-columns.ts';
import { joinLines, type Line, type PdfItem, toLines, withoutRunningLines } from './pdf-lines.ts';

/** A line this much larger than most of the text is a heading, if it is short. */
const HEADING_SIZE = 1.15;
const HEADING_LENGTH_MAX = 150;
const HEADING_LINES_MAX = 3;
/** Distances of baselines, in sizes of the text, beyond which a paragraph begins. */
const PARAGRAPH_GAP = 1.6;

/** Pages whose lines are held at a time, to find what runs at their edges. */
const PAGES_AT_ONCE = 200;

export async function readPdf(bytes: Uint8Array, outline: Outline): Promise<undefined> {
  const document = await openPdf(bytes);
  try {
    for (let from = 1; from <= document.numPages; from += PAGES_AT_ONCE) {
      const pages: Line[][] = [];
      const to = Math.min(document.numPages, from + PAGES_AT_ONCE - 1);
      for (let number = from; number <= to; number++) pages.push(await linesOf(document, number));
      const size = usualSize(pages);
      for (const lines of withoutRunningLines(pages, size * HEADING_SIZE)) {
        outline.page();
        readPage(lines, size, outline);
      }
    }
  } finally {
    await document.loadingTask.destroy();
  }
  return undefined;
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(bytes, {
      useSystemFonts: false,
      disableFontFace: true,
      enableXfa: false,
      // Taken from here, and by nothing that a file names but by the name of a table.
      BinaryDataFactory: CharacterMaps,
      cMapUrl: CHARACTER_MAPS,
      useWorkerFetch: false,
      verbosity: 0,
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException')
      throw new Unreadable('unsupported', 'the file is encrypted');
    throw error;
  }
}

/** Adobe's tables of Chinese, Japanese and Korean characters, for fonts that are not in the file. */
const CHARACTER_MAPS = join(dirname(Bun.resolveSync('pdfjs-dist/package.json', import.meta.dir)), 'cmaps/');

class CharacterMaps {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    if (kind !== 'cMapUrl' || !/^[\w-]+\.bcmap$/.test(filename)) throw new Error('there is no such table');
    return Bun.file(`${CHARACTER_MAPS}${filename}`).bytes();
  }
}

/** A page that is broken is left out; the others are read. */
async function linesOf(document: Pdf, number: number): Promise<Line[]> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return withoutColumns(toLines(items.filter((item) => 'str' in item) as unknown as PdfItem[]));
  } catch {
    return [];
  }
}

function readPage(lines: readonly Line[], size: number, outline: Outline): void {
  let open: Line[] = [];
  const close = (): void => {
    const [first] = open;
    if (first === undefined) return;
    const text = joinLines(open);
    const isHeading =
      first.size >= size * HEADING_SIZE &&
      open.length <= HEADING_LINES_MAX &&
      text.length <= HEADING_LENGTH_MAX;
    if (isHeading) outline.heading(levelOf(first.size / size), text);
    else if (open.length > 1 && open.every((line) => line.text.includes('\t')))
      for (const line of open) outline.row(line.text.split('\t'));
    else outline.paragraph(text);
    outline.interrupt();
    open = [];
  };
  for (const line of lines) {
    const last = open.at(-1);
    if (last !== undefined && beginsParagraph(line, last)) close();
    open.push(line);
  }
  close();
}

/** Another size of letters, a larger distance, or the next column. */
function beginsParagraph(line: Line, last: Line): boolean {
  const distance = (last.y - line.y) / Math.max(1, last.size);
  const sizes = line.size / last.size;
  return distance > PARAGRAPH_GAP || distance < 0 || sizes > HEADING_SIZE || sizes < 1 / HEADING_SIZE;
}

const levelOf = (times: number): number => (times >= 1.8 ? 1 : times >= 1.4 ? 2 : 3);

/** The size of most characters. */
function usualSize(pages: readonly (readonly Line[])[]): number {
  const characters = new Map<number, number>();
  for (const line of pages.flat()) {
    const size = Math.round(line.size * 2) / 2;
    characters.set(size, (characters.get(size) ?? 0) + line.text.length);
  }
  return [...characters].reduce((most, each) => (each[1] > most[1] ? each : most), [1, 0])[0] || 1;
}
