// Pages that are made from the code say what the code says, and every operation is described as it should be.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { allOperations, generatedPages } from './support/generated-pages.ts';

for (const [path, text] of await generatedPages())
  test(`${path.split('/').at(-1)} is up to date (bun run docs:generate)`, () => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

test('operations have names and places of their own', async () => {
  const operations = await allOperations();
  const ids = operations.map(({ id }) => id);
  const places = operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(places).size).toBe(places.length);
});

const ROOT = join(import.meta.dir, '..');
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'bench/RESULTS.md'].concat([
  ...new Bun.Glob('docs/**/*.md').scanSync(ROOT),
]);
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

test('every test that a page names exists', () => {
  const named = PAGES.flatMap((page) => read(page).match(/`test\/[\w./-]+`/g) ?? []);
  const absent = named
    .map((name) => name.replaceAll('`', ''))
    .filter((name) => !existsSync(join(ROOT, name)));
  expect(named.length).toBeGreaterThan(50);
  expect(absent).toEqual([]);
});

test('every link of a page to another page leads somewhere', () => {
  const links = PAGES.flatMap((page) =>
    [...read(page).matchAll(/(?:\]\(|(?:src|srcset)=")(?!https?:)([^)"\s]+)[)"]/g)].map(
      ([, target = '']) => ({
        page,
        target,
      }),
    ),
  );
  const dead = links.filter(({ page, target }) => {
    const [path = '', heading] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(ROOT, file))) return true;
    return heading !== undefined && !headings(read(file)).includes(heading);
  });
  expect(links.length).toBeGreaterThan(50);
  expect(dead).toEqual([]);
});

test('the README is short', () => {
  expect(read('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(900);
});

test('the table of choices has every package', () => {
  const chosen = [...read('CONTRIBUTING.md').matchAll(/^\| (.+?) \|/gm)].flatMap(([, names = '']) =>
    names.replace(/ \(.*\)/, '').split(', '),
  );
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const names = Object.keys({ ...dependencies, ...devDependencies });
  expect(names.filter((name) => !chosen.includes(name))).toEqual([]);
});

/** The anchors of a page's headings, as a forge makes them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
