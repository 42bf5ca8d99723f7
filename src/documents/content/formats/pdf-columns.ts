// Columns of text in a PDF whose lines are placed row by row, as if they were a table: each column is read as a whole.

import type { Line } from './pdf-lines.ts';

/** Rows in which all columns have text, and letters of their lines on average: cells of tables are shorter. */
const ROWS_MIN = 4;
const LETTERS_MIN = 22;
/** Lines of a column end near its edge: most of them are at least this share of its width. */
const FULL_SHARE = 0.65;
const FULL_LINES_SHARE = 0.7;
/** Sizes of the text by which a line may begin beside its column: paragraphs are indented. */
const INDENT_MAX = 2;
/** Columns of prose on a page: a line with more is a row of a table. */
const COLUMNS_MAX = 12;

/** The lines with those of columns that stand side by side one after the other; rows of tables stay. */
export function withoutColumns(lines: readonly Line[]): Line[] {
  const ordered: Line[] = [];
  for (let from = 0; from < lines.length; ) {
    const { rows, columns } = columnsFrom(lines, from);
    const to = from + Math.max(1, rows);
    const isText = columns.length > 1 && columns.every(isProse);
    for (const line of isText ? columns.flat() : lines.slice(from, to)) ordered.push(line);
    from = to;
  }
  return ordered;
}

/** The columns that begin with a line, none where it has one alone; and how many lines are theirs. */
function columnsFrom(lines: readonly Line[], from: number): { rows: number; columns: Line[][] } {
  const first = lines[from];
  if (first === undefined || first.cells.length < 2 || first.cells.length > COLUMNS_MAX)
    return { rows: 1, columns: [] };
  const columns: Line[][] = first.cells.map(() => []);
  let [rows, whole] = [0, 0];
  for (let line = lines[from]; line !== undefined; line = lines[from + rows]) {
    const places = line.cells.map((cell) => columnOf(cell, first));
    if (places.includes(-1)) break;
    for (const [index, cell] of line.cells.entries())
      columns[places[index] ?? 0]?.push({ ...line, ...cell, cells: [cell] });
    if (line.cells.length === first.cells.length) whole++;
    rows++;
  }
  return { rows, columns: whole >= ROWS_MIN ? columns : [] };
}

const columnOf = (cell: Line['cells'][number], { cells, size }: Line): number =>
  cells.findIndex((column, index) => {
    const next = cells[index + 1];
    const isRightToLeft = next !== undefined && next.x < column.x;
    const border = isRightToLeft || next === undefined ? Number.POSITIVE_INFINITY : next.x;
    return Math.abs(cell.x - column.x) <= size * INDENT_MAX && cell.end <= border;
  });

function isProse(lines: readonly Line[]): boolean {
  const letters = lines.reduce((sum, { text }) => sum + text.length, 0);
  const width = lines.reduce((most, { x, end }) => Math.max(most, end - x), 0);
  const full = lines.filter(({ x, end }) => end - x >= width * FULL_SHARE).length;
  return letters >= lines.length * LETTERS_MIN && full >= lines.length * FULL_LINES_SHARE;
}
