// What many seeds came to: faults by kind, operations by area, refusals by status, and what was violated.

import { addTo } from './client.ts';
import type { Outcome } from './run-seed.ts';

export type Report = {
  seeds: number;
  violated: number[];
  struck: Map<string, number>;
  acknowledged: Map<string, number>;
  refused: Map<string, number>;
  elapsedMs: number[];
};

export const emptyReport = (): Report => ({
  seeds: 0,
  violated: [],
  elapsedMs: [],
  struck: new Map(),
  acknowledged: new Map(),
  refused: new Map(),
});

export function addOutcome(report: Report, { plan, tally, struck, violations, elapsedMs }: Outcome): void {
  report.seeds += 1;
  if (violations.size > 0) report.violated.push(plan.seed);
  report.elapsedMs.push(elapsedMs);
  for (const [name, count] of struck) addTo(report.struck, name, count);
  for (const [name, count] of tally.acknowledged) addTo(report.acknowledged, name, count);
  for (const [name, count] of tally.refused) addTo(report.refused, name, count);
}

const renderCounts = (counts: Map<string, number>): string =>
  [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

export function renderReport({ seeds, violated, struck, acknowledged, refused, elapsedMs }: Report): string {
  const sorted = elapsedMs.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    `${((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1000).toFixed(1)} s`;
  return [
    `${seeds} seeds; median ${at(0.5)}, longest ${at(1)}`,
    `faults: ${renderCounts(struck)}`,
    `answered with success: ${renderCounts(acknowledged)}`,
    `refused: ${renderCounts(refused)}`,
    violated.length === 0
      ? 'no violation'
      : `${violated.length} seeds with violations: ${violated.join(' ')}`,
  ].join('\n');
}
