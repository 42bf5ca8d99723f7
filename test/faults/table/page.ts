// The generated part of docs/operating/reliability.md, made from the results of the last runs.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AREAS,
  type Area,
  type AreaFigures,
  type CellResult,
  FAULTS,
  LEFT_OUT,
  MEANS,
  namesOfCells,
  type Results,
  SERVICES,
  type Service,
  TAKEN,
} from './cells.ts';

const ROOT = join(import.meta.dir, '../../..');
export const PAGE = join(ROOT, 'docs/operating/reliability.md');
export const RESULTS = join(import.meta.dir, 'results.json');
const BEGIN = '<!-- made by `bun run faults table` from here -->';
const END = '<!-- to here -->';

export const readResults = (): Results => JSON.parse(readFileSync(RESULTS, 'utf8')) as Results;

/** The page with the table of these results in place of the one that it has. */
export function withTable(page: string, results: Results): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`the page needs ${BEGIN} and ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${renderTable(results)}\n${page.slice(end)}`;
}

export function writePage(results: Results): void {
  writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), results));
}

function renderTable(results: Results): string {
  const areas = Object.values(AREAS);
  const head = `| ${['it', ...areas, 'well after', 'lost'].join(' | ')} |`;
  const rule = `|${'---|'.repeat(areas.length + 3)}`;
  const sections = (Object.keys(SERVICES) as Service[]).map((service) => {
    const rows = namesOfCells()
      .filter((cell) => cell.service === service)
      .map(({ fault, name }) => {
        const words = MEANS[name] ?? FAULTS[fault];
        const reason = LEFT_OUT[name];
        if (reason !== undefined) return wideRow(words, `left out: ${reason}`);
        const result = results[name];
        if (result === undefined) return wideRow(words, 'not measured yet');
        if ('missing' in result) return wideRow(words, `not measured here: ${result.missing}`);
        return renderRow(words, result, TAKEN[name]);
      });
    const heading = SERVICES[service].replace(/^the /, '');
    return [`### ${heading[0]?.toUpperCase()}${heading.slice(1)}`, '', head, rule, ...rows, ''].join('\n');
  });
  return sections.join('\n');
}

const wideRow = (words: string, text: string): string =>
  `| ${words} | ${text} |${' |'.repeat(Object.keys(AREAS).length + 1)}`;

function renderRow(words: string, result: Exclude<CellResult, { missing: string }>, taken?: string): string {
  const areas = (Object.keys(AREAS) as Area[]).map((area) => renderFigures(result.areas[area]));
  const after = result.wellMs === null ? 'not within the time' : renderMs(result.wellMs);
  const well = result.seconds === SECONDS ? after : `${after}, after ${result.seconds} s`;
  const lost = taken ?? (result.lost.length === 0 ? 'nothing' : result.lost.join('; '));
  return `| ${[words, ...areas, well, lost].join(' | ')} |`;
}

/** How long most faults lasted; a line whose fault lasted otherwise says so. */
const SECONDS = 6;
/** A cell that rests on fewer says on how many. */
const FEW = 20;

/** `62 / 38 / 0 · 12 ms · 2.1 s`, or `100 · 6.0 s · 6.1 s (3)` of three requests; one figure where everything was answered. */
function renderFigures({ answered, unavailable, failed, p50Ms, worstMs }: AreaFigures): string {
  const all = answered + unavailable + failed;
  if (all === 0) return 'no request';
  const percent = (count: number): number => Math.round((100 * count) / all);
  const shares = answered === all ? '100' : [answered, unavailable, failed].map(percent).join(' / ');
  return `${shares} · ${renderMs(p50Ms)} · ${renderMs(worstMs)}${all < FEW ? ` (${all})` : ''}`;
}

export const renderMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
