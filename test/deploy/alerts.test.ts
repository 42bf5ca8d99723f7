// The alert rules: Prometheus accepts them, some of them are tried, and each has its section in the runbook.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { missingPromtool, runPromtool } from '../support/promtool.ts';

const ROOT = join(import.meta.dir, '../..');
const RULES = join(ROOT, 'deploy/prometheus');

type Rule = {
  alert: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
const { groups } = parse(readFileSync(join(RULES, 'alerts.yaml'), 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

test('each alert has a severity, a sentence and its section of the runbook, in the same order', () => {
  const runbook = readFileSync(join(ROOT, 'docs/operating/runbook.md'), 'utf8');
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(rules.length).toBeGreaterThan(10);
  expect(rules.map(({ alert }) => alert)).toEqual(sections as string[]);
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning|info)$/)]);
    expect(annotations.runbook_url).toBe(`docs/operating/runbook.md#${alert.toLowerCase()}`);
    expect(annotations.summary.length).toBeGreaterThan(10);
  }
});

describe.skipIf(missingPromtool !== undefined)(
  missingPromtool === undefined ? 'promtool' : `promtool (${missingPromtool})`,
  () => {
    for (const [what, command] of [
      ['accepts the rules', ['check', 'rules', 'alerts.yaml']],
      ['sees alerts fire when they should, and not before', ['test', 'rules', 'alerts.test.yaml']],
    ] as const)
      test(what, async () => {
        const { code, output } = await runPromtool(command, RULES);
        expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
      });
  },
);
