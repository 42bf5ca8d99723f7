// The page of a run: what it was, what it measured, and its course over time. It is one file that loads nothing.

import { escapeHtml, type Line, type Plot, renderPlot } from '../lib/plots.ts';
import { milliseconds, multiple, whole } from '../lib/report.ts';
import { renderSlope } from './print.ts';
import type { LoadResult } from './run.ts';

const STYLE = `
:root{color-scheme:light dark;--back:#fafaf8;--card:#fff;--text:#1d2327;--soft:#667078;--grid:#e6e8e6;--good:#1a7f4b;--bad:#c0362c;
--c0:#2b6cb0;--c1:#d97706;--c2:#b83280;--c3:#2f855a;--c4:#805ad5;--c5:#0e7490;--c6:#9b2c2c;--c7:#65a30d;--c8:#6b7280}
@media(prefers-color-scheme:dark){:root{--back:#14181b;--card:#1c2226;--text:#e6eaec;--soft:#98a3aa;--grid:#2c353b;--good:#4ccb8a;--bad:#ff8578;
--c0:#63a4e8;--c1:#f0a94b;--c2:#ed7fbd;--c3:#5fce94;--c4:#b79cf5;--c5:#4fc3d9;--c6:#f08a8a;--c7:#a9d94f;--c8:#a3adb5}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:940px;padding:2.5rem 1.25rem;background:var(--back);color:var(--text);font:15px/1.55 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0;letter-spacing:-.01em}h2{font-size:1rem;margin:0}
p,span,dt{color:var(--soft)}p{margin:.2rem 0 1.5rem}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:.75rem;margin:0 0 1.5rem}
dl div,figure,table{background:var(--card);border:1px solid var(--grid);border-radius:10px}
dl div{padding:.7rem .9rem}dt{font-size:.8rem}dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}
figure{margin:0 0 1.25rem;padding:1rem}figcaption{display:flex;justify-content:space-between;align-items:baseline;gap:1rem;margin-bottom:.5rem}
figcaption span{font-size:.8rem}svg{display:block;width:100%;height:auto}
.grid{stroke:var(--grid);fill:none}.tick{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}
.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round}.area{fill:var(--c);stroke:var(--card);stroke-width:.5}
ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;margin:.6rem 0 0;padding:0;font-size:.85rem;color:var(--soft)}
li b{color:var(--text);font-variant-numeric:tabular-nums}i{display:inline-block;width:.7em;height:.7em;border-radius:2px;background:var(--c);margin-right:.4em}
${Array.from({ length: 9 }, (_, index) => `.c${index}{--c:var(--c${index})}`).join('')}
.good{color:var(--good)}.bad{color:var(--bad)}
table{width:100%;border-collapse:separate;border-spacing:0;font-size:.9rem;padding:.4rem 0}
th,td{padding:.25rem .9rem;text-align:right;font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}
`;

export function renderPage(result: LoadResult): string {
  const title = `Load: ${result.shape}, ${result.area}`;
  const isGood = result.broken.length === 0;
  const verdict = isGood ? 'All thresholds kept' : `Broken: ${result.broken.join(', ')}`;
  const facts = factsOf(result).map(
    ([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  const rows = result.checks.map(
    ({ request, passes, fails }) =>
      `<tr><td>${escapeHtml(request)}</td><td>${whole(passes)}</td><td${fails > 0 ? ' class="bad"' : ''}>${whole(fails)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(result.meaning)} ${escapeHtml(result.startedAt.slice(0, 16).replace('T', ' '))} UTC, ${result.minutes} minutes,
${result.machine.processors} processors, ${escapeHtml(result.servers)} servers. <b class="${isGood ? 'good' : 'bad'}">${escapeHtml(verdict)}</b></p>
<dl>${facts.join('')}</dl>
${plotsOf(result).map(renderPlot).join('\n')}
<table><thead><tr><th>request</th><th>right</th><th>wrong</th></tr></thead><tbody>${rows.join('')}</tbody></table>
</body></html>
`;
}

function factsOf({
  requests,
  iterations,
  idle,
  p99TimesIdle,
  memory,
  ...result
}: LoadResult): [string, string][] {
  const facts: [string, string][] = [
    ['requests a second', whole(requests.perSecond)],
    [
      'p50 / p95 / p99',
      `${[requests.p50Ms, requests.p95Ms, requests.p99Ms].map(milliseconds).join(' / ')} ms`,
    ],
  ];
  if (idle !== undefined && p99TimesIdle !== undefined)
    facts.push([
      'p99 against the idle service',
      `${multiple(p99TimesIdle)} of ${milliseconds(idle.p99Ms)} ms`,
    ]);
  if (result.capacityPerSecond !== undefined)
    facts.push(['capacity, iterations a second', whole(result.capacityPerSecond)]);
  facts.push(
    ['iterations done / refused / not begun', Object.values(iterations).map(whole).join(' / ')],
    ['memory at most', `${whole(memory.peakMiB)} MiB`],
    ['memory of the service, second half', renderSlope(memory.slopes.service)],
    ['with children, without buffers', renderSlope(memory.slopes.together)],
  );
  return facts;
}

function plotsOf({ overTime, memory, weights }: LoadResult): Plot[] {
  const seconds = overTime.map(({ second }) => second);
  const line = (name: string, value: (point: (typeof overTime)[number]) => number): Line => ({
    name,
    values: overTime.map(value),
  });
  const samples = memory.samples;
  const part = (name: string, value: (sample: (typeof samples)[number]) => number): Line => ({
    name,
    values: samples.map(value),
  });
  return [
    {
      title: 'Throughput',
      unit: 'requests a second',
      seconds,
      stacked: true,
      lines: Object.keys(weights).map((area) => line(area, ({ byArea }) => byArea[area] ?? 0)),
    },
    {
      title: 'Latency',
      unit: 'ms',
      seconds,
      lines: [
        line('p50', ({ p50Ms }) => p50Ms),
        line('p95', ({ p95Ms }) => p95Ms),
        line('p99', ({ p99Ms }) => p99Ms),
      ],
    },
    {
      title: 'Errors',
      unit: 'a second',
      seconds,
      lines: [
        line('not begun: the service was late', ({ notBegun }) => notBegun),
        line('refused', ({ refused }) => refused),
        line('failed', ({ failed }) => failed),
      ],
    },
    {
      title: 'Memory',
      unit: 'MiB, proportional',
      stacked: true,
      seconds: samples.map(({ second }) => second),
      lines: [
        part('the service', ({ service }) => service),
        part('its children', ({ children }) => children),
        part('shared buffers of Postgres', ({ buffers }) => buffers),
      ],
    },
  ];
}
