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

type Summary = { metrics: Record<string, { values?: Record<string, number> } & Record<string, unknown>> };

/** Runs a k6 script to its end. Throws when k6 is not installed or a threshold breaks. */
export async function runK6(script: string, environment: Record<string, string>): Promise<Load> {
  const k6 = findServer('k6');
  if (k6 === undefined) throw new Error('k6 is not installed: bun run servers');
  const folder = mkdtempSync(join(tmpdir(), 'atrium-k6-'));
  try {
    const out = join(folder, 'summary.json');
    const child = Bun.spawn([k6, 'run', '--quiet', '--no-usage-report', '--address', '', script], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], SUMMARY: out, ...environment },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if ((await child.exited) !== 0) throw new Error(`k6 failed on ${script}`);
    const { metrics } = JSON.parse(readFileSync(out, 'utf8')) as Summary;
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
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
