// Prometheus' text format (0.0.4), without a client library, so that an observation costs only a few additions.

import type { Operation } from './operation.ts';

/** Upper bounds of the latency histogram, in milliseconds. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];

type Series = { counts: number[]; sumMs: number; count: number };
type RouteSeries = { operation: Operation; byStatus: Map<number, Series> };

type Sample = { labels?: Record<string, string>; value: number };

/** A metric that is read for each answer of /metrics: a counter only grows, a gauge is a current value. */
export type Metric = { name: string; help: string; type: 'counter' | 'gauge'; values(): Sample[] };

const metric =
  (type: Metric['type']) =>
  (name: string, help: string, read: () => number | Sample[]): Metric => ({
    name,
    help,
    type,
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
    render: (metrics: readonly Metric[]): string =>
      [...renderRequests(routes), ...metrics.flatMap(renderMetric), ''].join('\n'),
  };
}

function renderRequests(routes: readonly RouteSeries[]): string[] {
  const name = 'atrium_http_request_duration_seconds';
  const lines = [`# HELP ${name} Time to answer, by route and status.`, `# TYPE ${name} histogram`];
  for (const { operation, byStatus } of routes) {
    for (const [status, series] of byStatus) {
      const labels = `method="${operation.method}",route="${operation.path}",status="${status}"`;
      let cumulative = 0;
      for (const [index, boundMs] of BUCKETS_MS.entries()) {
        cumulative += series.counts[index] ?? 0;
        lines.push(`${name}_bucket{${labels},le="${boundMs / 1000}"} ${cumulative}`);
      }
      lines.push(`${name}_bucket{${labels},le="+Inf"} ${series.count}`);
      lines.push(`${name}_sum{${labels}} ${series.sumMs / 1000}`, `${name}_count{${labels}} ${series.count}`);
    }
  }
  return lines;
}

function renderMetric(metric: Metric): string[] {
  const rows = metric.values().map(({ labels, value }) => {
    const pairs = Object.entries(labels ?? {}).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
    return `${metric.name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
  });
  return [`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} ${metric.type}`, ...rows];
}

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
