// Spreadsheets of Office Open XML (ECMA-376): rows of cells as they show, under the sheet's name and its first row.

import { ROW_CELLS_MAX } from '../limits.ts';
import { type Outline, toLine } from '../outline.ts';
import { isBroken } from '../unreadable.ts';
import { namesColumns } from './table.ts';
import { mainPartOf, parseXml, readRelationships } from './xml.ts';
import type { Archive } from './zip.ts';

/** Columns up to here keep their places; cells beyond follow one another. */
const COLUMNS_PLACED_MAX = 256;

/** What is looked at of a format; programs allow 255 characters. */
const FORMAT_LENGTH_MAX = 255;

/** The formats of dates and times that have no text of their own in a file (ECMA-376 part 1, 18.8.30). */
const DATE_FORMATS = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

type Workbook = { sharedStrings: readonly string[]; dates: readonly boolean[] };

export function readXlsx(archive: Archive, outline: Outline): void {
  const main = mainPartOf(archive) ?? 'xl/workbook.xml';
  const bytes = archive.read(main);
  if (bytes === undefined) throw isBroken('the file has no workbook');
  const related = readRelationships(archive, main);
  const pathOf = (type: string): string => related.values().find((each) => each.type === type)?.path ?? '';
  const workbook: Workbook = {
    sharedStrings: readSharedStrings(archive.read(pathOf('sharedStrings'))),
    dates: readDateStyles(archive.read(pathOf('styles'))),
  };
  /** Names of sheets by their parts, each of which is one sheet. */
  const sheets = new Map<string, string>();
  parseXml(bytes, {
    open(name, attributes) {
      const path = name === 'sheet' ? related.get(attributes['id'] ?? '')?.path : undefined;
      if (path !== undefined) sheets.set(path, attributes['name'] ?? '');
    },
  });
  for (const [path, name] of sheets) {
    outline.page();
    outline.section([]);
    outline.heading(1, name);
    readSheet(archive.read(path), { name, outline, workbook });
  }
}

function readSharedStrings(bytes: Uint8Array | undefined): string[] {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  let phonetic = false;
  parseXml(bytes, {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 'rPh') phonetic = true;
      else if (name === 't') inText = !phonetic;
    },
    close(name) {
      if (name === 't') inText = false;
      else if (name === 'rPh') phonetic = false;
      // Many cells may have the same text: it is cleaned once.
      else if (name === 'si') strings.push(toLine(text));
    },
    text(data) {
      if (inText) text += data;
    },
  });
  return strings;
}

/** For each style of cells, whether it shows a number as a date. */
function readDateStyles(bytes: Uint8Array | undefined): boolean[] {
  const custom = new Map<number, boolean>();
  const styles: boolean[] = [];
  let inCells = false;
  parseXml(bytes, {
    open(name, attributes) {
      const format = Number(attributes['numFmtId'] ?? 0);
      if (name === 'numFmt') {
        const code = (attributes['formatCode'] ?? '')
          .slice(0, FORMAT_LENGTH_MAX)
          .replaceAll(/"[^"]*"?|\[[^\]]*\]?|\\./g, '');
        custom.set(format, /[ymdhs]/i.test(code));
      } else if (name === 'cellXfs') inCells = true;
      else if (name === 'xf' && inCells) styles.push(custom.get(format) ?? DATE_FORMATS.has(format));
    },
    close(name) {
      if (name === 'cellXfs') inCells = false;
    },
  });
  return styles;
}

function readSheet(
  bytes: Uint8Array | undefined,
  { name: sheet, outline, workbook }: { name: string; outline: Outline; workbook: Workbook },
): void {
  let isFirst = true;
  let row: string[] = [];
  let cell = { column: 0, type: '', style: 0 };
  let value = '';
  let inValue = false;
  const endRow = (): void => {
    if (row.length > 0) {
      if (isFirst && namesColumns(row)) outline.section([sheet, row.join(', ')]);
      isFirst = false;
      outline.row(row);
    }
    row = [];
  };
  parseXml(bytes, {
    open(name, attributes) {
      if (name === 'c') {
        const { r: reference = '', t: type = '', s: style = 0 } = attributes;
        cell = { column: toColumn(reference), type, style: Number(style) };
        value = '';
      } else if (name === 'v' || name === 't') inValue = true;
    },
    close(name) {
      if (name === 'v' || name === 't') inValue = false;
      else if (name === 'c') {
        const shown = value === '' ? '' : show(value, cell, workbook);
        if (shown.trim() === '' || row.length >= ROW_CELLS_MAX) return;
        while (row.length < Math.min(cell.column, COLUMNS_PLACED_MAX)) row.push('');
        row.push(shown);
      } else if (name === 'row') endRow();
    },
    text(data) {
      if (inValue) value += data;
    },
  });
}

/** The column of a reference such as `AB12`, from 0. */
function toColumn(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? '')
    column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function show(value: string, { type, style }: { type: string; style: number }, workbook: Workbook): string {
  if (type === 's') return workbook.sharedStrings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type !== '' && type !== 'n') return value;
  if (workbook.dates[style] === true) return showDate(Number(value));
  const number = Number(value);
  // As a sheet shows them: 0.30000000000000004 is 0.3.
  return Number.isFinite(number) && value.length > 15 ? String(Number(number.toPrecision(15))) : value;
}

/** A serial number of days since the end of 1899. */
function showDate(serial: number): string {
  const time = new Date(Math.round((serial - 25_569) * 86_400) * 1000);
  if (Number.isNaN(time.getTime())) return String(serial);
  const [date = '', clock = ''] = time.toISOString().split('T');
  if (serial < 1) return clock.slice(0, 8);
  return Number.isInteger(serial) ? date : `${date} ${clock.slice(0, 8)}`;
}
