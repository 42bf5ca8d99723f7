// The lines of a page of a PDF, from the pieces of text that it places, in the order in which it places them.

export type PdfItem = {
  str: string;
  /** The last two are the place of the baseline's begin. */
  transform: readonly number[];
  width: number;
  height: number;
  hasEOL: boolean;
};

export type Line = { text: string; x: number; y: number; size: number; end: number };

/** Pieces whose baselines differ by less than this share of their size are in one line. */
const SAME_LINE = 0.4;
/** A gap of this share of the size is a blank between words; one of several sizes divides columns. */
const BLANK_GAP = 0.15;
const COLUMN_GAP = 2.5;

export function toLines(items: readonly PdfItem[]): Line[] {
  const lines: Line[] = [];
  let open: Line | undefined;
  let endsBlank = false;
  for (const item of items) {
    const [a = 0, b = 0, , , x = 0, y = 0] = item.transform;
    const size = Math.hypot(a, b) || item.height || 1;
    if (item.str !== '') {
      if (open !== undefined && !continues(open, { x, y, size })) open = undefined;
      if (open === undefined) {
        open = { text: item.str, x, y, size, end: x + item.width };
        lines.push(open);
      } else {
        const gap = Math.max(x - open.end, open.x - (x + item.width));
        const joint = gap > size * COLUMN_GAP ? '\t' : gap > size * BLANK_GAP ? ' ' : '';
        open.text += joint !== '' && endsBlank ? item.str : joint + item.str;
        open.x = Math.min(open.x, x);
        open.end = Math.max(open.end, x + item.width);
        open.size = Math.max(open.size, size);
      }
      endsBlank = /\s/.test(item.str.slice(-1));
    }
    if (item.hasEOL) open = undefined;
  }
  return lines.filter(({ text }) => text.trim() !== '');
}

/** On the same baseline; a superscript is smaller and stands a little higher. */
const continues = (line: Line, { y, size }: { x: number; y: number; size: number }): boolean =>
  Math.abs(line.y - y) < Math.max(line.size, size) * SAME_LINE;

/** A word that is divided at a line's end is whole again. */
export function joinLines(lines: readonly Line[]): string {
  const parts: string[] = [];
  for (const line of lines) {
    const next = line.text.trim();
    const last = parts.at(-1);
    if (last !== undefined && /\p{Ll}[-\u00ad\u2010]$/u.test(last.slice(-3)) && /^\p{Ll}/u.test(next))
      parts.push(`${parts.pop()?.slice(0, -1)}`, next);
    else parts.push(last === undefined ? next : `\n${next}`);
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
  return pages.map((lines, page) =>
    lines.filter((line) => (counts.get(edges[page]?.get(line) ?? '') ?? 0) < most),
  );
}

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
