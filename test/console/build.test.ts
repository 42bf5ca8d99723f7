// The front end as it is built: small, whole, and from this origin alone.

import { beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTPUT_FOLDER, readManifest } from '../../src/console/manifest.ts';
import { isPage, PAGES } from '../../src/console/pages.ts';
import { LANGUAGES, MESSAGES } from '../../src/console/web/messages.ts';

const ROOT = join(import.meta.dir, '../..');
const SCRIPT_BYTES_MAX = 93_000;
const build = async (): Promise<string> => {
  const child = Bun.spawn([process.execPath, 'src/console/build.ts'], {
    cwd: ROOT,
    stderr: 'pipe',
    stdout: 'pipe',
  });
  const output = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  expect([await child.exited, output]).toEqual([0, '']);
  return output;
};

beforeAll(async () => {
  await build();
});

const files = (): string[] => readManifest()?.files ?? [];
const sizeOf = (name: string): number => readFileSync(join(OUTPUT_FOLDER, name)).length;

test('all scripts that a reader may load have together less than 93 kB as browsers get them', () => {
  const texts = Object.values(readManifest()?.languages ?? {});
  const scripts = files().filter((name) => name.endsWith('.js') && !texts.includes(name));
  expect([scripts.length > 5, texts.length > 1]).toEqual([true, true]);
  const sizesOf = (names: readonly string[]): number[] => names.map((name) => sizeOf(`${name}.br`));
  // The texts of one language, the longest.
  const total = sizesOf(scripts).reduce((sum, size) => sum + size, Math.max(...sizesOf(texts)));
  expect(total).toBeLessThan(SCRIPT_BYTES_MAX);
});

test('files are named by their content, and a second build changes nothing', async () => {
  for (const name of files()) expect(name).toMatch(/^[\w-]+-[a-z0-9]{8}\.(?:js|css)$/);
  const before = readManifest();
  await build();
  expect(readManifest()).toEqual(before as NonNullable<typeof before>);
});

test('no file names another origin', () => {
  // XML namespaces are names, and uPlot's licence names its home.
  const harmless = /http:\/\/www\.w3\.org\/|https:\/\/github\.com\/leeoniya\/uPlot/g;
  for (const name of files()) {
    const text = readFileSync(join(OUTPUT_FOLDER, name), 'utf8').replaceAll(harmless, '');
    expect([name, text.match(/https?:\/\/(?!\$)[a-z0-9.]+/g) ?? []]).toEqual([name, []]);
  }
});

test('the names of pages are those of URLs', () => {
  for (const page of PAGES) expect(page).toMatch(/^[a-z-]+$/);
  expect([isPage('keys'), isPage('api'), isPage('')]).toEqual([true, false, false]);
});

test('a reader loads the texts of one language', () => {
  const { languages, script } = readManifest() ?? { languages: {}, script: '' };
  expect(Object.keys(languages)).toEqual([...LANGUAGES]);
  const texts = [MESSAGES['error.title'][0], MESSAGES['error.title'][1]];
  const textsIn = (name: string): string[] => {
    const content = readFileSync(join(OUTPUT_FOLDER, name), 'utf8');
    return texts.filter((text) => content.includes(text));
  };
  expect(Object.values(languages).map(textsIn)).toEqual(texts.map((text) => [text]));
  expect(textsIn(script)).toEqual([]);
});
