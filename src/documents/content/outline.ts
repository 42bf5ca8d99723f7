// The text of a document, and its structure, as a format's reader states it part by part.

import { HEADING_LENGTH_MAX, ROW_CELLS_MAX, TEXT_LENGTH_MAX } from './limits.ts';

/**
 * A part of the text with one role. `lines` (of code, tables and the like) are kept apart as lines, everything else as
 * sentences. Offsets are in UTF-16 code units.
 */
export type Block = {
  start: number;
  end: number;
  role: 'heading' | 'prose' | 'lines';
  /** The number of its page, slide or sheet; null where the format has none. */
  page: number | null;
  /** The headings above it, itself included where it is one: `Chapter › Section`. */
  heading: string | null;
};

/** Thrown where the text has its largest length, or reading its longest time: the text so far is kept. */
export class TextFull extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'TextFull';
  }
}

export type Outline = ReturnType<typeof createOutline>;

type Content = { text: string; markdown: string };

/** Between blocks; rows of a table and items of a list follow one another in the next line. */
const PARAGRAPH = '\n\n';
const LINE = '\n';

const JOINT = ' › ';

/** Calls after which it is asked whether reading takes too long. */
const CALLS_BETWEEN = 16;

/** `takesLong` says whether reading has taken so long that the rest of the file is left out. */
export function createOutline({ takesLong = () => false }: { takesLong?: () => boolean } = {}) {
  const blocks: Block[] = [];
  const texts: string[] = [];
  const markdowns: string[] = [];
  let length = 0;
  let calls = 0;
  let headings: { level: number; text: string }[] = [];
  let path: string | null = null;
  let page: number | null = null;
  let pages = 0;
  /** What the last block was, where the next one of the same kind follows in the next line. */
  let running: 'row' | 'item' | undefined;

  function checkTime(): void {
    if (takesLong()) throw new TextFull('reading the file takes too long');
  }

  /** Each call counts, also one that adds nothing. */
  function count(): void {
    if (++calls % CALLS_BETWEEN === 0) checkTime();
  }

  function add(role: Block['role'], { text, markdown }: Content, kind?: 'row' | 'item'): void {
    count();
    if (text.trim() === '') return;
    const joint = length === 0 ? '' : kind !== undefined && running === kind ? LINE : PARAGRAPH;
    running = kind;
    const room = TEXT_LENGTH_MAX - length - joint.length;
    const kept = text.length > room ? text.slice(0, Math.max(0, room)).toWellFormed() : text;
    if (kept.trim() !== '') {
      texts.push(joint, kept);
      markdowns.push(joint, kept === text ? markdown : kept);
      const start = length + joint.length;
      length = start + kept.length;
      blocks.push({ start, end: length, role, page, heading: path });
    }
    if (kept !== text) throw new TextFull(`the text is longer than ${TEXT_LENGTH_MAX} characters`);
  }

  return {
    /** Opens a section; those of its level and below end. `level` is 1 to 6. */
    heading(level: number, given: string): void {
      const text = toLine(given);
      if (text === '') return;
      const above = headings.filter((each) => each.level < level);
      headings = [...above, { level, text: text.slice(0, HEADING_LENGTH_MAX + 1) }];
      path = toPath(headings.map((each) => each.text));
      add('heading', { text, markdown: `${'#'.repeat(Math.min(6, level))} ${text}` });
    },
    /** Headings that stand nowhere in the text, as the names of columns; none ends the section. */
    section(names: readonly string[]): void {
      headings = names.map((name, index) => ({ level: index + 1, text: toLine(name) }));
      path = toPath(headings.map((each) => each.text).filter((text) => text !== ''));
    },
    paragraph(given: string): void {
      const text = clean(given).trim();
      add('prose', { text, markdown: text });
    },
    /** An item of a list, at a depth from 0. */
    item(depth: number, given: string): void {
      const text = clean(given).trim();
      add('prose', { text: `• ${text}`, markdown: `${'  '.repeat(Math.min(8, depth))}- ${text}` }, 'item');
    },
    /** A row of a table; the first one is its header. */
    row(given: readonly string[]): void {
      const cells: string[] = [];
      let room = TEXT_LENGTH_MAX;
      for (let index = 0; index < given.length && cells.length < ROW_CELLS_MAX && room >= 0; index++) {
        const cell = toLine(given[index] ?? '');
        cells.push(cell);
        room -= cell.length;
      }
      while (cells.length > 0 && cells.at(-1) === '') cells.pop();
      if (cells.length === 0) {
        count();
        return;
      }
      const line = `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
      const markdown = running === 'row' ? line : `${line}\n|${' --- |'.repeat(cells.length)}`;
      add('lines', { text: cells.join('\t'), markdown }, 'row');
    },
    /** Throws where reading takes too long; each part of the text looks now and then, too. */
    checkTime,
    /** Ends a list or a table: another one may follow. */
    interrupt(): void {
      running = undefined;
    },
    /** Text whose lines stay as they are. */
    lines(given: string, { fenced = true } = {}): void {
      const text = clean(given).replace(/^\n+/, '').trimEnd();
      const fence = text.includes('```') ? '````' : '```';
      add('lines', { text, markdown: fenced ? `${fence}\n${text}\n${fence}` : text });
    },
    /** The next page, slide or sheet begins. */
    page(): void {
      count();
      pages += 1;
      page = pages;
      running = undefined;
    },
    /** The number of pages; null where the format has none. */
    pages: (): number | null => (pages === 0 ? null : pages),
    blocks: (): readonly Block[] => blocks,
    text: (): string => texts.join(''),
    markdown: (): string => markdowns.join(''),
  };
}

/** C0 and C1 control characters, without tab and line feed, soft hyphens, and marks of byte order. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\ufeff]/g;

/** Text that the database can hold and a reader can show. */
const clean = (text: string): string =>
  text
    .replaceAll(/\r\n?|\u2028|\u2029/g, '\n')
    .replaceAll(CONTROLS, '')
    .toWellFormed();

/** The same in one line. */
export const toLine = (text: string): string =>
  text === '' ? '' : clean(text).replaceAll(/\s+/g, ' ').trim();

function toPath(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const path = names.join(JOINT);
  return path.length > HEADING_LENGTH_MAX ? `${path.slice(0, HEADING_LENGTH_MAX - 1).toWellFormed()}…` : path;
}
