import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer } from '../../test/support/servers.ts';

export type Load = {
  requestsPerSecond: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  failed: number;
  count: number;
  /** Of every counter, the script's own ones too. */
  counters: Record<string, number>;
};

export type Metric = {
  values?: Record<string, number>;
  thresholds?: Record<string, { ok: boolean }>;
};
type Check = { name: string; passes: number; fails: number };
type Summary = { metrics: Record<string, Metric>; root_group: { checks: Check[] } };

export type K6Result = Summary & {
  /** Thresholds that were broken, such as `checks: rate==1`. */
  broken: string[];
};

/** The code of k6 for a run whose thresholds broke. */
const THRESHOLDS_BROKEN = 99;

/**
 * Runs a script that writes its summary to SUMMARY; k6 writes its own page of the run to `report`. Throws where k6 is not installed, or
 * could not run the script.
 */
export async function k6(
  script: string,
  environment: Record<string, string>,
  { report }: { report?: string | undefined } = {},
): Promise<K6Result> {
  const binary = findServer('k6');
  if (binary === undefined) throw new Error('k6 is not installed: bun run servers');
  const folder = mkdtempSync(join(tmpdir(), 'atrium-k6-'));
  const out = join(folder, 'summary.json');
  // The dashboard sums up within k6; it is not served.
  const dashboard = report !== undefined && {
    K6_WEB_DASHBOARD: 'true',
    K6_WEB_DASHBOARD_PORT: '-1',
    K6_WEB_DASHBOARD_PERIOD: '1s',
    K6_WEB_DASHBOARD_TAGS: 'area',
    K6_WEB_DASHBOARD_EXPORT: report,
  };
  try {
    const child = Bun.spawn([binary, 'run', '--quiet', '--no-usage-report', '--address', '', script], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        SUMMARY: out,
        ...dashboard,
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const end = (): void => child.kill('SIGKILL');
    process.on('exit', end);
    const code = await child.exited;
    process.off('exit', end);
    if (code !== 0 && code !== THRESHOLDS_BROKEN) throw new Error(`k6 failed on ${script}`);
    const summary = JSON.parse(readFileSync(out, 'utf8')) as Summary;
    const broken = Object.entries(summary.metrics).flatMap(([name, { thresholds = {} }]) =>
      Object.entries(thresholds).flatMap(([rule, { ok }]) => (ok ? [] : [`${name}: ${rule}`])),
    );
    return { ...summary, broken };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a k6 script to its end. Throws when k6 is not installed or a threshold breaks. */
export async function runK6(script: string, environment: Record<string, string>): Promise<Load> {
  const { metrics, broken } = await k6(script, environment);
  if (broken.length > 0) throw new Error(`${script}: ${broken.join(', ')}`);
  return loadOf(metrics);
}

export function loadOf(metrics: Record<string, Metric>): Load {
  const value = (metric: string, name: string): number => metrics[metric]?.values?.[name] ?? 0;
  return {
    requestsPerSecond: value('http_reqs', 'rate'),
    count: value('http_reqs', 'count'),
    p50Ms: value('http_req_duration', 'p(50)'),
    p95Ms: value('http_req_duration', 'p(95)'),
    p99Ms: value('http_req_duration', 'p(99)'),
    failed: value('checks', 'fails'),
    counters: Object.fromEntries(Object.keys(metrics).map((name) => [name, value(name, 'count')])),
  };
}
