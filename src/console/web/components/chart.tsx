import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { save, toCsv } from '../csv.ts';
import { formatNumber, language, t } from '../text.ts';
import { Button } from './button.tsx';
import { Table } from './table.tsx';

/** `null`: nothing is known of that time. */
export type Series = { label: string; values: readonly (number | null)[] };

type Data = {
  title: string;
  /** Milliseconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  format?: (value: number) => string;
};

const HEIGHT = 128;
/** In seconds. */
const HALF_DAY = 43_200;
const COLOURS = ['--chart-1', '--chart-2', '--chart-3'];

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Lines over time, with the same as a table below. A chart with `href` is a way to the page with the table instead. */
export function Chart({
  title,
  total,
  times,
  series,
  format = formatNumber,
  href,
}: Data & { total?: string; href?: string }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const frame = ref.current;
    // Without a single time there is no axis to draw: it would begin in 1970.
    if (frame === null || times.length === 0) return undefined;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsOf(series, frame.clientWidth, format), dataOf(times, series), frame);
    };
    draw();
    const resize = new ResizeObserver(() => plot?.setSize({ width: frame.clientWidth, height: HEIGHT }));
    resize.observe(frame);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resize.disconnect();
      theme.disconnect();
      scheme.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [times, series]);
  return (
    <figure class="chart">
      <figcaption>
        {href === undefined ? <span>{title}</span> : <a href={href}>{title}</a>}
        {total === undefined ? null : <span>{total}</span>}
      </figcaption>
      {times.length === 0 ? (
        <p class="soft">{t('chart.none')}</p>
      ) : (
        <div class="chart-plot" ref={ref} aria-hidden="true" />
      )}
      {href === undefined ? <ChartTable title={title} times={times} series={series} format={format} /> : null}
    </figure>
  );
}

/** `2026-11-21`, with the hour where the chart has hours. */
const nameTime = (ms: number): string =>
  new Date(ms).toISOString().slice(0, 16).replace('T', ' ').replace(' 00:00', '');

/** The figures of a chart, the newest first; they are drawn when they are opened. */
function ChartTable({ title, times, series, format = formatNumber }: Data) {
  const [open, setOpen] = useState(false);
  const rows = open ? times.map((ms, at) => ({ ms, at })).reverse() : [];
  const csv = (): string =>
    toCsv([
      ['time', ...series.map(({ label }) => label)],
      ...rows.map(({ ms, at }) => [nameTime(ms), ...series.map(({ values }) => values[at] ?? null)]),
    ]);
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('chart.table')}</summary>
      {open ? (
        <>
          <Table
            caption={title}
            rows={rows}
            keyOf={({ ms }) => String(ms)}
            columns={[
              { title: t('chart.time'), cell: ({ ms }) => <span class="nowrap">{nameTime(ms)}</span> },
              ...series.map(({ label, values }) => ({
                title: label,
                kind: 'number' as const,
                cell: ({ at }: { ms: number; at: number }) => {
                  const value = values[at] ?? null;
                  return value === null ? '–' : format(value);
                },
              })),
            ]}
          />
          <Button onClick={() => save(`${title}.csv`, csv(), 'text/csv')}>CSV</Button>
        </>
      ) : null}
    </details>
  );
}

const dataOf = (times: readonly number[], series: readonly Series[]): uPlot.AlignedData => [
  times.map((ms) => ms / 1000),
  ...series.map(({ values }) => [...values]),
];

function optionsOf(
  series: readonly Series[],
  width: number,
  format: (value: number) => string,
): uPlot.Options {
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line-color'), width: 1 },
    ticks: { show: false },
  };
  const isWhole = series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
  const font = `11px ${colour('--font')}`;
  return {
    width,
    height: HEIGHT,
    padding: [8, 18, 0, 0],
    cursor: { y: false, drag: { setScale: false } },
    legend: { show: false },
    scales: {
      // A single time has no range of its own.
      x: { range: (_plot, min, max) => (min === max ? [min - HALF_DAY, max + HALF_DAY] : [min, max]) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        font,
        size: 18,
        grid: { show: false },
        space: 70,
        // A day has 86,400 seconds: of less than two of them the hours are told.
        values: (_plot, splits) =>
          splits.map((splits.at(-1) ?? 0) - (splits[0] ?? 0) < 2 * 86_400 ? formatHour : formatDay),
      },
      {
        ...axis,
        font,
        size: 56,
        space: 36,
        // Whole things have no halves.
        values: (_plot, splits) =>
          splits.map((value) => (isWhole && !Number.isInteger(value) ? '' : format(value))),
      },
    ],
    series: [
      {},
      ...series.map(({ label, values }, at) => ({
        label,
        stroke: colour(COLOURS[at % COLOURS.length] ?? '--chart-1'),
        fill: at === 0 && series.length === 1 ? `${colour('--chart-1')}22` : '',
        width: 1.5,
        points: { show: false, filter: () => aloneAmong(values) },
      })),
    ],
  };
}

/** The places of values without a neighbour, which no line shows. */
const aloneAmong = (values: Series['values']): number[] =>
  values.flatMap((value, at) =>
    value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );

const hourFormat = new Intl.DateTimeFormat(language, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
});
const formatHour = (seconds: number): string => hourFormat.format(new Date(seconds * 1000));

const dayFormat = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const formatDay = (seconds: number): string => dayFormat.format(new Date(seconds * 1000));
