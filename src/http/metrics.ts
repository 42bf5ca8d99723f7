// Prometheus' text format (0.0.4), without a client library, so that an observation costs only a few additions.

import type { Across, MetricFamily, Series as Row } from '../core/metric-families.ts';
import type { Operation } from './operation.ts';

/**
 * Upper bounds of the latency histogram, in milliseconds. Among them are the bounds that the service promises (docs/operating/observe.md), so
 * that the share of requests within a promise is read, not interpolated.
 */
const BUCKETS_MS = [
  0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 1500, 2000, 2500, 5000, 10_000, 11_000, 22_000, 30_000,
  60_000, 600_000,
];

type Series = { counts: number[]; sumMs: number; count: number };
type RouteSeries = { operation: Operation; byStatus: Map<number, Series> };

type Sample = { labels?: Record<string, string>; value: number };

/** A metric that is read for each answer of /metrics: a counter only grows, a gauge is a current value. */
export type Metric = {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  across: Across;
  values(): Sample[];
};

const metric =
  (type: Metric['type']) =>
  (name: string, help: string, read: () => number | Sample[], across: Across = 'sum'): Metric => ({
    name,
    help,
    type,
    across,
    values() {
      const value = read();
      return typeof value === 'number' ? [{ value }] : value;
    },
  });

export const counter = metric('counter');
export const gauge = metric('gauge');

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

export function createRequestMetrics() {
  const routes: RouteSeries[] = [];
  return {
    /** Returns the observer of one operation's requests. */
    route(operation: Operation): (status: number, durationMs: number) => void {
      const byStatus = new Map<number, Series>();
      routes.push({ operation, byStatus });
      return (status, durationMs) => {
        let series = byStatus.get(status);
        if (series === undefined) {
          series = { counts: new Array<number>(BUCKETS_MS.length + 1).fill(0), sumMs: 0, count: 0 };
          byStatus.set(status, series);
        }
        let bucket = 0;
        while (bucket < BUCKETS_MS.length && durationMs > (BUCKETS_MS[bucket] ?? 0)) bucket++;
        series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
        series.sumMs += durationMs;
        series.count++;
      };
    },
    families: (metrics: readonly Metric[]): MetricFamily[] => [
      requestFamily(routes),
      ...metrics.map(familyOf),
    ],
  };
}

function requestFamily(routes: readonly RouteSeries[]): MetricFamily {
  const name = 'atrium_http_request_duration_seconds';
  const rows: Row[] = [];
  for (const { operation, byStatus } of routes) {
    for (const [status, series] of byStatus) {
      const labels = `method="${operation.method}",route="${operation.path}",status="${status}"`;
      let cumulative = 0;
      for (const [index, boundMs] of BUCKETS_MS.entries()) {
        cumulative += series.counts[index] ?? 0;
        rows.push([`${name}_bucket{${labels},le="${boundMs / 1000}"}`, cumulative]);
      }
      rows.push([`${name}_bucket{${labels},le="+Inf"}`, series.count]);
      rows.push([`${name}_sum{${labels}}`, series.sumMs / 1000], [`${name}_count{${labels}}`, series.count]);
    }
  }
  const help = 'Time to answer, by route and status.';
  return { name, help, type: 'histogram', across: 'sum', series: rows };
}

function familyOf({ name, help, type, across, values }: Metric): MetricFamily {
  const rows = values().map(({ labels, value }): Row => {
    const pairs = Object.entries(labels ?? {}).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
    return [`${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''}`, value];
  });
  return { name, help, type, across, series: rows };
}

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
