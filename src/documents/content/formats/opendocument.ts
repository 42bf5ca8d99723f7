// OpenDocument (ISO/IEC 26300) text documents, spreadsheets and presentations: one vocabulary for the three.

import { ROW_CELLS_MAX } from '../limits.ts';
import { type Outline, toLine } from '../outline.ts';
import { isBroken, Unreadable } from '../unreadable.ts';
import { namesColumns } from './table.ts';
import { type Attributes, parseXml } from './xml.ts';
import type { Archive } from './zip.ts';

const HIDDEN = new Set(['tracked-changes', 'annotation', 'sequence-decls', 'forms', 'note-citation']);
/** Cells that repeat one value are stated so often at most: the rest of a row is filled in that way. */
const REPEATED_MAX = 64;

export function readOpenDocument(archive: Archive, outline: Outline): void {
  if (new TextDecoder().decode(archive.read('META-INF/manifest.xml')).includes('encryption-data'))
    throw new Unreadable('unsupported', 'the file is encrypted');
  const content = archive.read('content.xml');
  if (content === undefined) throw isBroken('the file has no content');
  parseXml(content, createHandlers(outline));
}

function createHandlers(outline: Outline) {
  let text = '';
  let level = 0;
  let hidden = 0;
  let lists = 0;
  let paragraphs = 0;
  let isSheet = false;
  let isTitle = false;
  let sheet = '';
  let rows = 0;
  /** The row that is being read, undefined outside of one. */
  let row: string[] | undefined;
  let cell = '';
  let repeats = 1;
  /** Paragraphs that a note interrupts, and the notes, which follow them. */
  const around: { text: string; level: number }[] = [];
  let notes: string[] = [];

  const endParagraph = (): void => {
    if (around.length > 0) notes.push(text);
    else if (row !== undefined) cell += `${text} `;
    else if (level > 0) outline.heading(level, text);
    else if (isTitle) outline.heading(1, text);
    else if (lists > 0) outline.item(lists - 1, text);
    else outline.paragraph(text);
    text = '';
    level = 0;
    if (around.length > 0) return;
    if (row === undefined) for (const note of notes) outline.paragraph(note);
    else cell += notes.map((note) => `${note} `).join('');
    notes = [];
  };
  const endRow = (): void => {
    const cells = row ?? [];
    row = undefined;
    if (cells.every((each) => each.trim() === '')) return;
    if (isSheet && rows++ === 0 && namesColumns(cells)) outline.section([sheet, cells.join(', ')]);
    outline.row(cells);
  };
  const beginTable = (attributes: Attributes): void => {
    outline.interrupt();
    rows = 0;
    if (!isSheet) return;
    sheet = attributes['name'] ?? '';
    outline.page();
    outline.section([]);
    outline.heading(1, sheet);
  };
  const beginPage = (): void => {
    outline.page();
    outline.section([]);
  };
  const openings: Record<string, (attributes: Attributes) => void> = {
    spreadsheet: () => (isSheet = true),
    page: beginPage,
    h: (attributes) => {
      level = Math.min(6, Number(attributes['outline-level'] ?? 1) || 1);
      paragraphs++;
    },
    p: () => paragraphs++,
    list: () => lists++,
    frame: (attributes) => (isTitle = attributes['class'] === 'title'),
    'note-body': () => {
      around.push({ text, level });
      text = '';
    },
    tab: () => (text += '\t'),
    s: (attributes) => (text += ' '.repeat(Math.min(REPEATED_MAX, Number(attributes['c'] ?? 1) || 1))),
    'line-break': () => (text += '\n'),
    table: beginTable,
    'table-row': () => (row = []),
    'table-cell': (attributes) => {
      cell = '';
      repeats = Math.min(REPEATED_MAX, Number(attributes['number-columns-repeated'] ?? 1) || 1);
    },
  };
  const closings: Record<string, () => void> = {
    h: () => {
      paragraphs--;
      endParagraph();
    },
    p: () => {
      paragraphs--;
      endParagraph();
    },
    list: () => lists--,
    frame: () => (isTitle = false),
    'table-cell': () => {
      const text = toLine(cell);
      for (let time = 0; row !== undefined && time < repeats && row.length < ROW_CELLS_MAX; time++)
        row.push(text);
    },
    'table-row': endRow,
    'note-body': () => ({ text, level } = around.pop() ?? { text, level }),
  };
  return {
    open(name: string, attributes: Attributes) {
      if (HIDDEN.has(name)) hidden++;
      if (hidden === 0) openings[name]?.(attributes);
    },
    close(name: string) {
      if (hidden === 0) closings[name]?.();
      if (HIDDEN.has(name)) hidden--;
    },
    text(data: string) {
      if (hidden === 0 && paragraphs > 0) text += data.replaceAll(/\s+/g, ' ');
    },
  };
}
