// The table of faults in docs/operating/reliability.md: complete, and made from its results.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { FAULTS, LEFT_OUT, MEANS, namesOfCells, SERVICES, type Service, TAKEN } from './table/cells.ts';
import { PAGE, readResults, withTable } from './table/page.ts';

const page = readFileSync(PAGE, 'utf8');
const results = readResults();

test('the table is the one that its results give (bun run faults table)', () => {
  expect(withTable(page, results)).toBe(page);
});

test('every fault of every service has its line, with figures or with the reason why not', () => {
  const headings = (Object.keys(SERVICES) as Service[]).map((service) => {
    const name = SERVICES[service].replace(/^the /, '');
    return `### ${name[0]?.toUpperCase()}${name.slice(1)}`;
  });
  const sections = page.split(/^(?=### )/m).slice(1);
  expect(sections.map((section) => section.split('\n')[0] ?? '')).toEqual(headings);
  const lines = sections.flatMap((section) => section.split('\n').filter((line) => /^\| (?!it )/.test(line)));
  const expected = namesOfCells().map(({ name, fault }) => `| ${MEANS[name] ?? FAULTS[fault]} |`);
  expect(lines.map((line) => line.slice(0, line.indexOf(' |', 2) + 2))).toEqual(expected);
  expect(lines.filter((line) => line.includes('not measured yet'))).toEqual([]);
});

test('results are of cells that there are, and nothing that was acknowledged was lost in any', () => {
  const names = namesOfCells().map(({ name }) => name);
  for (const [name, result] of Object.entries(results)) {
    expect(names).toContain(name as (typeof names)[number]);
    expect(LEFT_OUT[name as (typeof names)[number]]).toBeUndefined();
    if (!('missing' in result) && TAKEN[name as (typeof names)[number]] === undefined)
      expect({ name, lost: result.lost }).toEqual({ name, lost: [] });
  }
});
