// The lines of a page of a PDF, from the pieces of text that it places, in the order in which it places them.

export type PdfItem = {
  str: string;
  /** The last two are the place of the baseline's begin. */
  transform: readonly number[];
  width: number;
  height: number;
  hasEOL: boolean;
};

export type Line = Place & {
  text: string;
  /** The parts of the line that stand far apart, as in tables and columns. */
  cells: readonly Cell[];
};
/** `y` is that of the baseline. On a page whose text is turned, both are those along the text. */
type Place = { x: number; y: number; size: number; end: number };
type Cell = { text: string; x: number; end: number };
type Piece = Place & { text: string };

/** Pieces whose baselines differ by less than this share of their size are in one line. */
const SAME_LINE = 0.4;
/** A gap of this share of the size is a blank between words; a larger one divides columns. */
const BLANK_GAP = 0.15;
const COLUMN_GAP = 1.5;
/** What stands before an item of a list, and is no column of its own. */
const LABEL = /^([•·▪‣◦–—*-]|\(?\w{1,3}[.)])$/u;

export function toLines(items: readonly PdfItem[]): Line[] {
  const lines: Piece[][] = [];
  let open: Piece[] | undefined;
  for (const item of items) {
    const piece = toPiece(item);
    // A wide blank is made up for a gap.
    const isGap = piece.text.trim() === '' && piece.end - piece.x > piece.size * COLUMN_GAP;
    if (piece.text !== '' && !isGap) {
      if (open !== undefined && !continues(open, piece)) open = undefined;
      if (open === undefined) {
        open = [piece];
        lines.push(open);
      } else open.push(piece);
    }
    if (item.hasEOL) open = undefined;
  }
  return lines.map(toLine).filter(({ text }) => text.trim() !== '');
}

/** Ligatures, forms of Arabic letters by their place in a word, and signs that look like Chinese characters. */
const FORMS = /[\u2e80-\u2fdf\uf900-\ufdff\ufe70-\ufefc]+/g;

function toPiece({ str, transform, width, height }: PdfItem): Piece {
  const [a = 0, b = 0, , , x = 0, y = 0] = transform;
  const size = Math.hypot(a, b) || height || 1;
  const text = str.replaceAll(FORMS, (forms) => forms.normalize('NFKC'));
  if (Math.abs(b) <= Math.abs(a)) return { text, x, y, size, end: x + width };
  // Text that is turned by a quarter is read along the page's height.
  const [along, across] = b > 0 ? [y, -x] : [-y, x];
  return { text, x: along, y: across, size, end: along + width };
}

/** On the same baseline; a superscript is smaller and stands a little higher. */
const continues = ([first]: readonly Piece[], { y, size }: Piece): boolean =>
  first !== undefined && Math.abs(first.y - y) < Math.max(first.size, size) * SAME_LINE;

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const LEFT_TO_RIGHT = /[\p{L}\p{N}]/u;

function toLine(pieces: readonly Piece[]): Line {
  const ordered = pieces.some(({ text }) => RIGHT_TO_LEFT.test(text)) ? inReadingOrder(pieces) : pieces;
  return joinPieces(ordered, ({ text, y, size }, before, line) =>
    /^\d{1,3}$/.test(text) && size < line.size * 0.8 && y > line.y + line.size * 0.15
      ? toMark(text, before)
      : text,
  );
}

/** A number above the line: of a note where a word or a sentence ends before it, else a power or a unit's. */
const toMark = (digits: string, before: string): string =>
  (/(\p{L}{4}|[.,;:!?)”’])$/u.test(before.slice(-4)) ? ' ' : '') +
  digits.replaceAll(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)] ?? digit);

/** A line that is read from the right: what it holds from the left (names, numbers) keeps its own order. */
function inReadingOrder(pieces: readonly Piece[]): Piece[] {
  const right = pieces.filter(({ text }) => RIGHT_TO_LEFT.test(text)).length;
  const left = pieces.filter(({ text }) => !RIGHT_TO_LEFT.test(text) && /\p{L}/u.test(text)).length;
  if (left > right) return [...pieces];
  const ordered: Piece[] = [];
  let run: Piece[] = [];
  const close = (): void => {
    if (run.length > 0) ordered.push(joinPieces(run.reverse()));
    run = [];
  };
  for (const piece of pieces.toSorted((one, other) => other.x - one.x)) {
    const fromLeft = !RIGHT_TO_LEFT.test(piece.text) && LEFT_TO_RIGHT.test(piece.text);
    if (fromLeft || (run.length > 0 && piece.text.trim() === '')) run.push(piece);
    else {
      close();
      ordered.push(piece);
    }
  }
  close();
  return ordered;
}

function joinPieces(
  pieces: readonly Piece[],
  render: (piece: Piece, before: string, line: Place) => string = ({ text }) => text,
): Line {
  const line = { x: Number.POSITIVE_INFINITY, y: 0, size: 0, end: Number.NEGATIVE_INFINITY };
  for (const { y, size } of pieces) if (size > line.size) [line.y, line.size] = [y, size];
  const cells: Cell[] = [];
  const texts: string[] = [];
  let last = '';
  for (const piece of pieces) {
    const gap = texts.length === 0 ? 0 : Math.max(piece.x - line.end, line.x - piece.end);
    const text = render(piece, last, line);
    const isColumn =
      gap > piece.size * COLUMN_GAP && !(cells.length === 1 && LABEL.test(cells[0]?.text ?? ''));
    const joint =
      last.slice(-1).trim() === '' && last !== ''
        ? ''
        : isColumn
          ? '\t'
          : gap > piece.size * BLANK_GAP
            ? ' '
            : '';
    const cell = cells.at(-1);
    if (cell === undefined || isColumn) cells.push({ text, x: piece.x, end: piece.end });
    else {
      cell.text += joint + text;
      cell.x = Math.min(cell.x, piece.x);
      cell.end = Math.max(cell.end, piece.end);
    }
    texts.push(joint, text);
    last = text;
    line.x = Math.min(line.x, piece.x);
    line.end = Math.max(line.end, piece.end);
  }
  return { ...line, text: texts.join(''), cells };
}

/** Characters of scripts that write no blanks, with their punctuation: a line's end is none either. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3001-\u301f\uff01-\uff1f]/u;

/** A word that is divided at a line's end is whole again. */
export function joinLines(lines: readonly Line[]): string {
  const parts: string[] = [];
  for (const line of lines) {
    const next = line.text.trim();
    const last = parts.at(-1);
    if (last !== undefined && /\p{Ll}[-\u00ad\u2010]$/u.test(last.slice(-3)) && /^\p{Ll}/u.test(next))
      parts.push(`${parts.pop()?.slice(0, -1)}`, next);
    else if (last === undefined || (UNSPACED.test(last.slice(-1)) && UNSPACED.test(next))) parts.push(next);
    else parts.push(`\n${next}`);
  }
  return parts.join('');
}

/**
 * The lines without headers and footers: those at the edge of a page whose text, but for its numbers, stands at the same
 * edge of many pages. Larger ones than `sizeMax` stay: they are headings.
 */
export function withoutRunningLines(pages: readonly (readonly Line[])[], sizeMax: number): Line[][] {
  if (pages.length < PAGES_MIN) return pages.map((lines) => [...lines]);
  const counts = new Map<string, number>();
  const edges = pages.map((lines) => edgesOf(lines.filter(({ size }) => size <= sizeMax)));
  for (const edge of edges)
    for (const key of new Set(edge.values())) counts.set(key, (counts.get(key) ?? 0) + 1);
  const most = Math.max(PAGES_MIN, pages.length * SHARE_OF_PAGES);
  return pages.map((lines, page) => {
    const left = lines.filter((line) => (counts.get(edges[page]?.get(line) ?? '') ?? 0) < most);
    return left.length > 0 ? left : lines.filter(({ text }) => SENTENCE.test(text));
  });
}

/** What is alone on its page is its text, if it is more than a number and a name. */
const SENTENCE = /\p{L}+(?:\P{L}+\p{L}+){2}/u;

const PAGES_MIN = 3;
/** Left and right pages may differ. */
const SHARE_OF_PAGES = 0.4;
const EDGE_LINES = 2;

/** The lines at the top and at the bottom of a page, each with what is compared. */
function edgesOf(lines: readonly Line[]): Map<Line, string> {
  const ordered = lines.toSorted((one, other) => other.y - one.y);
  const keyOf = (line: Line, edge: string): string =>
    `${edge}:${line.text.replaceAll(/\d+/g, '#').replaceAll(/\s+/g, ' ').trim()}`;
  return new Map([
    ...ordered.slice(0, EDGE_LINES).map((line) => [line, keyOf(line, 'top')] as const),
    ...ordered.slice(-EDGE_LINES).map((line) => [line, keyOf(line, 'bottom')] as const),
  ]);
}
