// Prometheus' text format (0.0.4), without a client library, so that an observation costs only a few additions.

import type { Across, MetricFamily, Series as Row } from '../core/metric-families.ts';

/**
 * Upper bounds of the latency histogram, in seconds. Among them are the bounds that the service promises (docs/operating/observe.md), so
 * that the share of requests within a promise is read, not interpolated.
 */
const REQUEST_BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 5, 10, 11, 22, 30, 60, 600,
];

/** The observations under one set of labels: how many values are within each bound, how many there are, and their sum. */
class Observations {
  private readonly counts: number[];
  private readonly bounds: readonly number[];
  private sum = 0;
  private count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length).fill(0);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] ?? 0)) bucket++;
    if (bucket < this.bounds.length) this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
    this.count++;
  }

  /** `labels` as the text format has them, without braces. */
  rows(name: string, labels: string): Row[] {
    let cumulative = 0;
    const buckets = this.bounds.map((bound, index): Row => {
      cumulative += this.counts[index] ?? 0;
      return [`${name}_bucket{${labels},le="${bound}"}`, cumulative];
    });
    return [
      ...buckets,
      [`${name}_bucket{${labels},le="+Inf"}`, this.count],
      [`${name}_sum{${labels}}`, this.sum],
      [`${name}_count{${labels}}`, this.count],
    ];
  }
}

type Labels = Record<string, string>;
type Sample = { labels?: Labels; value: number };

/** A metric that is read for each answer of /metrics: a counter only grows, a gauge is a current value. */
const metric =
  <Type extends 'counter' | 'gauge'>(type: Type) =>
  (name: string, help: string, read: () => number | Sample[], across: Across = 'sum') => ({
    name,
    help,
    type,
    across,
    family(): MetricFamily {
      const value = read();
      const samples: Sample[] = typeof value === 'number' ? [{ value }] : value;
      const series = samples.map(({ labels, value: each }): Row => {
        const text = renderLabels(labels ?? {});
        return [text === '' ? name : `${name}{${text}}`, each];
      });
      return { name, help, type, across, series };
    },
  });

export const counter = metric('counter');
export const gauge = metric('gauge');

export type Histogram = ReturnType<typeof histogram>;
export type Metric = ReturnType<typeof counter> | ReturnType<typeof gauge> | Histogram;

/** A metric of the distribution of the observed values, by labels. */
export function histogram(name: string, help: string, bounds: readonly number[]) {
  const byLabels = new Map<string, Observations>();
  return {
    name,
    help,
    type: 'histogram' as const,
    observe(labels: Labels, value: number): void {
      const text = renderLabels(labels);
      const observations = byLabels.get(text) ?? new Observations(bounds);
      byLabels.set(text, observations);
      observations.add(value);
    },
    family(): MetricFamily {
      const series = [...byLabels].flatMap(([labels, observations]) => observations.rows(name, labels));
      return { name, help, type: 'histogram', across: 'sum', series };
    },
  };
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

type Route = { readonly method: string; readonly path: string };

export function createRequestMetrics() {
  const routes = new Map<Route, Map<number, Observations>>();
  return {
    /** Adds a request of the route. */
    observe(route: Route, status: number, durationMs: number): void {
      const byStatus = routes.get(route) ?? new Map<number, Observations>();
      routes.set(route, byStatus);
      const observations = byStatus.get(status) ?? new Observations(REQUEST_BOUNDS);
      byStatus.set(status, observations);
      observations.add(durationMs / 1000);
    },
    families: (metrics: readonly Metric[]): MetricFamily[] => [
      requestFamily(routes),
      ...metrics.map((each) => each.family()),
    ],
  };
}

function requestFamily(routes: ReadonlyMap<Route, ReadonlyMap<number, Observations>>): MetricFamily {
  const name = 'atrium_http_request_duration_seconds';
  const series = [...routes].flatMap(([{ method, path }, byStatus]) =>
    [...byStatus].flatMap(([status, observations]) =>
      observations.rows(name, `method="${method}",route="${path}",status="${status}"`),
    ),
  );
  return { name, help: 'Time to answer, by route and status.', type: 'histogram', across: 'sum', series };
}

const renderLabels = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, text]) => `${key}="${escapeLabel(text)}"`)
    .join(',');

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

export const renderFamilies = (families: readonly MetricFamily[]): string =>
  families
    .flatMap(({ name, help, type, series }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...series.map(([key, value]) => `${key} ${value}`),
    ])
    .concat('')
    .join('\n');
