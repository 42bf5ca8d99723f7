import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatNumber, language } from '../text.ts';

export type Series = { label: string; values: readonly number[] };

const HEIGHT = 128;
const COLOURS = ['--chart-1', '--chart-2', '--chart-3'];

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Lines over time. `times`: milliseconds since 1970. What it shows stands in a table below it, or is summed up in `total`. */
export function Chart({
  title,
  total,
  times,
  series,
}: {
  title: string;
  total?: string;
  times: readonly number[];
  series: readonly Series[];
}) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const frame = ref.current;
    if (frame === null) return undefined;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsOf(series, frame.clientWidth), dataOf(times, series), frame);
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
        <span>{title}</span>
        {total === undefined ? null : <span>{total}</span>}
      </figcaption>
      <div class="chart-plot" ref={ref} aria-hidden="true" />
    </figure>
  );
}

const dataOf = (times: readonly number[], series: readonly Series[]): uPlot.AlignedData => [
  times.map((ms) => ms / 1000),
  ...series.map(({ values }) => [...values]),
];

function optionsOf(series: readonly Series[], width: number): uPlot.Options {
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line-color'), width: 1 },
    ticks: { show: false },
  };
  const font = `11px ${colour('--font')}`;
  return {
    width,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { setScale: false } },
    legend: { show: false },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        font,
        size: 18,
        grid: { show: false },
        space: 70,
        values: (_plot, splits) => splits.map(formatDay),
      },
      {
        ...axis,
        font,
        size: 48,
        space: 36,
        values: (_plot, splits) => splits.map((value) => formatNumber(value)),
      },
    ],
    series: [
      {},
      ...series.map(({ label }, at) => ({
        label,
        stroke: colour(COLOURS[at % COLOURS.length] ?? '--chart-1'),
        fill: at === 0 && series.length === 1 ? `${colour('--chart-1')}22` : '',
        width: 1.5,
        points: { show: series[at]?.values.length === 1 },
      })),
    ],
  };
}

const dayFormat = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const formatDay = (seconds: number): string => dayFormat.format(new Date(seconds * 1000));
