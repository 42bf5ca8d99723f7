// Line plots as SVG, drawn once: a page with them needs no script and sends no request. Colours are the page's variables.

export type Line = { name: string; values: readonly number[] };
export type Plot = {
  title: string;
  unit: string;
  /** Seconds since the start, for each value. */
  seconds: readonly number[];
  lines: readonly Line[];
  /** Stacks areas in place of lines. */
  stacked?: boolean;
};

const [WIDTH, HEIGHT] = [860, 250];
const MARGIN = { left: 56, right: 12, top: 10, bottom: 26 };
const INNER = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
const TICKS = 4;
/** More points than the plot has pixels say nothing more. */
const POINTS_MAX = 430;

export const escapeHtml = (text: string): string =>
  text.replace(
    /[&<>"]/g,
    (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] ?? sign,
  );

/** 1, 2 or 5 times a power of ten. */
function tickSize(span: number): number {
  const raw = span / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((step) => step * power >= raw) ?? 10);
}

const ticksTo = (most: number): number[] => {
  const size = tickSize(most);
  return Array.from({ length: Math.floor(most / size) + 1 }, (_, index) => index * size);
};

const short = (value: number): string =>
  value >= 10_000 ? `${+(value / 1000).toFixed(1)}k` : `${+value.toPrecision(3)}`;

const clock = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')}`;

/** The greatest of neighbours, so that no peak is lost. */
function thin(values: readonly number[]): number[] {
  const each = Math.ceil(values.length / POINTS_MAX);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, index) =>
    Math.max(...values.slice(index * each, (index + 1) * each)),
  );
}

export function renderPlot({ title, unit, seconds, lines, stacked = false }: Plot): string {
  const times = thin(seconds);
  const drawn = lines.map(({ name, values }) => ({ name, values: thin(values) }));
  // Of a stack, each line is the sum of those up to it.
  if (stacked)
    for (const [index, { values }] of drawn.entries())
      for (const at of values.keys()) values[at] = (values[at] ?? 0) + (drawn[index - 1]?.values[at] ?? 0);
  const most = Math.max(1, ...drawn.flatMap(({ values }) => values)) * 1.05;
  const last = Math.max(1, times.at(-1) ?? 1);
  const x = (second: number): string => (MARGIN.left + (Math.max(0, second) / last) * INNER.width).toFixed(1);
  const y = (value: number): string => (MARGIN.top + (1 - value / most) * INNER.height).toFixed(1);
  const path = (values: readonly number[]): string =>
    values.map((value, at) => `${at === 0 ? 'M' : 'L'}${x(times[at] ?? 0)} ${y(value)}`).join('');
  const base = MARGIN.top + INNER.height;
  const horizontal = ticksTo(most).map(
    (value) =>
      `<path class="grid" d="M${MARGIN.left} ${y(value)}H${WIDTH - MARGIN.right}"/>` +
      `<text class="tick" x="${MARGIN.left - 8}" y="${y(value)}" dy="0.32em" text-anchor="end">${short(value)}</text>`,
  );
  const vertical = ticksTo(last).map(
    (second) =>
      `<text class="tick" x="${x(second)}" y="${HEIGHT - 6}" text-anchor="middle">${clock(second)}</text>`,
  );
  // The last is drawn first, so that what lies below covers it.
  const shapes = drawn
    .map(({ values }, index) =>
      stacked
        ? `<path class="area c${index}" d="${path(values)}L${x(last)} ${base}L${MARGIN.left} ${base}Z"/>`
        : `<path class="line c${index}" d="${path(values)}"/>`,
    )
    .reverse();
  const legend = lines.map(
    ({ name, values }, index) =>
      `<li><i class="c${index}"></i>${escapeHtml(name)} <b>${short(Math.max(0, ...values))}</b></li>`,
  );
  return `<figure>
<figcaption><h2>${escapeHtml(title)}</h2><span>${escapeHtml(unit)}; the legend has the highest value of each</span></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">${horizontal.join('')}${vertical.join('')}${shapes.join('')}</svg>
<ul>${legend.join('')}</ul>
</figure>`;
}
