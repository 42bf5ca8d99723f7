// Builds the portal's front end into build/console, unless that is what its sources give already: scripts and styles named by
// the hash of their content, each also compressed, and a manifest that lists them. `bun run start` calls it.

import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { BunPlugin } from 'bun';
import { ASSETS_PATH, type Manifest, OUTPUT_FOLDER, readManifest } from './manifest.ts';
import { namesOfMessages } from './web/languages/column.ts';
import { LANGUAGES } from './web/messages.ts';

const ROOT = join(import.meta.dir, '../..');
const WEB = join(import.meta.dir, 'web');

/**
 * uPlot without its statics, among them the paths of bars, steps and splines: the portal draws lines, and the bundler leaves
 * out what nothing refers to.
 */
const linesOnly: BunPlugin = {
  name: 'uplot-lines-only',
  setup(build) {
    build.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      const [code, statics] = readFileSync(path, 'utf8').split('\nuPlot.assign = assign;\n');
      if (statics === undefined) throw new Error('The statics of uPlot have another place in this version');
      return { contents: `${code}\nexport { uPlot as default };`, loader: 'js' };
    });
  },
};

/**
 * Messages by their places instead of their names, where the source names one: `t('loading')` → `t(0)`. A name that is put together
 * while the page runs is looked up there.
 */
const messagesByPlace: BunPlugin = {
  name: 'messages-by-place',
  setup(build) {
    const places = new Map(namesOfMessages().map((name, place) => [name, place]));
    const toPlace = (call: string, name: string): string => {
      const place = places.get(name);
      return place === undefined ? call : `t(${place}`;
    };
    build.onLoad({ filter: /console\/web\/.*\.tsx?$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(/\bt\('([^'\\]+)'/g, toPlace),
      loader: path.endsWith('x') ? 'tsx' : 'ts',
    }));
  },
};

/** The hash of everything that the output depends on. */
function hashInputs(): string {
  const hash = new Bun.CryptoHasher('sha256');
  const files = [...new Bun.Glob('**/*').scanSync(WEB)].sort().map((path) => join(WEB, path));
  for (const path of [...files, import.meta.path, join(import.meta.dir, 'pages.ts'), join(ROOT, 'bun.lock')])
    hash.update(path.slice(ROOT.length)).update(readFileSync(path));
  return hash.digest('hex');
}

async function build(inputs: string): Promise<Manifest> {
  const { outputs } = await Bun.build({
    entrypoints: [join(WEB, 'main.tsx'), join(WEB, 'styles/main.css')],
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    plugins: [linesOnly, messagesByPlace],
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    publicPath: ASSETS_PATH,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  });
  const nameOf = (path: string): string => path.replace(/^\.?\//, '');
  const entryOf = (suffix: string): string => {
    const found = outputs.find(({ kind, path }) => kind !== 'chunk' && path.endsWith(suffix));
    if (found === undefined) throw new Error(`The build of the portal has no ${suffix}`);
    return nameOf(found.path);
  };
  const chunkOf = (name: string): string => {
    const found = outputs.map(({ path }) => nameOf(path)).find((each) => each.startsWith(`${name}-`));
    if (found === undefined) throw new Error(`The build of the portal has no texts of the language ${name}`);
    return found;
  };
  const manifest: Manifest = {
    inputs,
    script: entryOf('.js'),
    style: entryOf('.css'),
    languages: Object.fromEntries(LANGUAGES.map((each) => [each, chunkOf(each)])),
    files: outputs.map(({ path }) => nameOf(path)).sort(),
  };
  await mkdir(OUTPUT_FOLDER, { recursive: true });
  for (const output of outputs) {
    const bytes = new Uint8Array(await output.arrayBuffer());
    const name = nameOf(output.path);
    put(name, bytes);
    put(`${name}.br`, brotliCompressSync(bytes));
    put(`${name}.gz`, gzipSync(bytes, { level: 9 }));
  }
  // Last: a build that is interrupted leaves the former one in force.
  put('manifest.json', JSON.stringify(manifest));
  return manifest;
}

/** Two builds at once each put whole files in place. */
function put(name: string, content: string | Uint8Array): void {
  const path = join(OUTPUT_FOLDER, name);
  writeFileSync(`${path}.${process.pid}.new`, content);
  renameSync(`${path}.${process.pid}.new`, path);
}

function removeOthers({ files }: Manifest): void {
  const kept = new Set(['manifest.json', ...files.flatMap((name) => [name, `${name}.br`, `${name}.gz`])]);
  for (const name of readdirSync(OUTPUT_FOLDER))
    if (!kept.has(name) && !name.endsWith('.new')) rmSync(join(OUTPUT_FOLDER, name), { force: true });
}

const inputs = hashInputs();
if (readManifest()?.inputs !== inputs) removeOthers(await build(inputs));
