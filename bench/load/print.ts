// The short summary of a run.

import { milliseconds, multiple, printTable, whole } from '../lib/report.ts';
import type { Slope } from '../lib/slope.ts';
import type { LoadResult } from './run.ts';

const renderSlope = ({ perHour, halfWidth, verdict }: Slope): string =>
  Number.isNaN(perHour) ? verdict : `${perHour.toFixed(1)} ± ${halfWidth.toFixed(1)} MiB an hour: ${verdict}`;

export function printSummary(result: LoadResult): void {
  const { requests, iterations, memory, idle, p99TimesIdle } = result;
  console.log(`\n${result.shape}, ${result.area}: ${result.meaning}`);
  const rows: [string, string][] = [
    ['requests', `${whole(requests.count)}, ${whole(requests.perSecond)} a second`],
    [
      'p50, p95, p99',
      [requests.p50Ms, requests.p95Ms, requests.p99Ms].map(milliseconds).join(', ').concat(' ms'),
    ],
  ];
  if (idle !== undefined && p99TimesIdle !== undefined)
    rows.push(['p99 of the idle service', `${milliseconds(idle.p99Ms)} ms: ${multiple(p99TimesIdle)}`]);
  if (result.capacityPerSecond !== undefined)
    rows.push(['capacity', `${whole(result.capacityPerSecond)} iterations a second`]);
  rows.push(
    [
      'iterations',
      `${whole(iterations.done)} done, ${whole(iterations.refused)} refused, ${whole(iterations.notBegun)} not begun`,
    ],
    ['failed checks', whole(result.checks.reduce((sum, { fails }) => sum + fails, 0))],
    ['memory at most', `${whole(memory.peakMiB)} MiB`],
    ['memory of the service', renderSlope(memory.slopes.service)],
    ['with its children, without buffers', renderSlope(memory.slopes.together)],
  );
  printTable(`${result.minutes} minutes, ${result.servers} servers`, ['what', 'measured'], rows);
  const failing = result.checks.filter(({ fails }) => fails > 0);
  if (failing.length > 0)
    printTable(
      'Failed checks',
      ['request', 'failed', 'passed'],
      failing.map(({ request, passes, fails }) => [request, whole(fails), whole(passes)]),
    );
  console.log(
    result.broken.length === 0 ? '\nAll thresholds kept.' : `\nBroken: ${result.broken.join(', ')}`,
  );
}
