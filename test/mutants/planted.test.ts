// The list of mistakes to plant fits the code as it is. `bun run test:mutants` plants them.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { guarantees } from './guarantees.ts';
import { planted } from './planted.ts';

const ROOT = resolve(import.meta.dir, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('the text of each mistake stands in its file exactly once, and changes', () => {
  const misfits = planted.filter(
    ({ file, text, replacement }) => read(file).split(text).length !== 2 || text === replacement,
  );
  expect(misfits).toEqual([]);
});

test('the test that has to notice it exists', () => {
  const missing = planted.filter(
    ({ test: path, name }) =>
      !existsSync(join(ROOT, path)) || (name !== undefined && !read(path).includes(name)),
  );
  expect(missing).toEqual([]);
});

test('each guarantee names a planted mistake, and one of its tests has to notice it', () => {
  const byMistake = new Map(planted.map((each) => [each.mistake, each]));
  const unproved = guarantees.filter(
    ({ tests, mistakes }) =>
      mistakes.length === 0 ||
      !mistakes.every((mistake) => tests.some((path) => byMistake.get(mistake)?.test.startsWith(path))),
  );
  expect(unproved.map(({ says }) => says)).toEqual([]);
  expect(byMistake.size).toBe(planted.length);
});
