// Pages that are made from the code say what the code says, and every operation is described as it should be.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allRoutes, generatedPages } from './support/generated-pages.ts';

for (const [path, text] of generatedPages()) {
  test(`${path.split('/').at(-1)} is up to date (bun test/support/generated-pages.ts)`, () => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
}

test('operations have names and places of their own', () => {
  const operations = allRoutes().map(({ operation }) => operation);
  const ids = operations.map(({ id }) => id);
  const places = operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(places).size).toBe(places.length);
});

test('every test that the README names exists', () => {
  const root = join(import.meta.dir, '..');
  const named = readFileSync(join(root, 'README.md'), 'utf8').match(/`test\/[\w./-]+`/g) ?? [];
  const absent = named
    .map((name) => name.replaceAll('`', ''))
    .filter((name) => !existsSync(join(root, name)));
  expect(named.length).toBeGreaterThan(5);
  expect(absent).toEqual([]);
});
