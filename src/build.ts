// Builds the service into build/server, unless that is what its sources give already: each program and each worker thread as one
// file, with its bytecode, so that a start reads two files in place of some hundreds and parses nothing. `bun run start` calls it.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type BunPlugin, pathToFileURL } from 'bun';

const ROOT = resolve(import.meta.dir, '..');
const SOURCES = import.meta.dir;
const OUTPUT = join(ROOT, 'build/server');
/** The hash of the sources; written last, so that a build that is interrupted is made again. */
const INPUTS = join(OUTPUT, 'inputs');
/** A program of its own beside the one that names it: a worker thread, or a child process. */
const COMPANION = /new URL\('\.\/([a-z-]+)\.ts', import\.meta\.url\)/g;

type Source = { path: string; text: string };

function readSources(): Source[] {
  return [...new Bun.Glob('**/*.ts').scanSync(SOURCES)]
    .filter((path) => !path.startsWith('console/web/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(SOURCES, path), 'utf8') }));
}

/** Everything that the output depends on; it names files of this folder, so that a copy elsewhere has a build of its own. */
function hashInputs(sources: readonly Source[]): string {
  const hash = new Bun.CryptoHasher('sha256').update(`${Bun.version} ${ROOT}\0`);
  for (const { path, text } of sources) hash.update(`${path}\0${text}\0`);
  for (const name of ['package.json', 'bun.lock']) hash.update(readFileSync(join(ROOT, name)));
  return hash.digest('hex');
}

/** Paths from the folder of the sources. */
const companionsOf = ({ path, text }: Source): string[] =>
  [...text.matchAll(COMPANION)].map(([, name]) => join(dirname(path), `${name}.ts`));

const outputOf = (entry: string): string => join(OUTPUT, entry.replace(/\.ts$/, '.js'));

/**
 * A module knows its place by `import.meta`, and finds there the files that are read while it runs: in the output that is still the
 * place of the source. A companion is the one that was built.
 */
const placesOfSources: BunPlugin = {
  name: 'places-of-sources',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!path.startsWith(`${SOURCES}/`)) return { contents: text, loader: 'ts' };
      const companion = (_: string, name: string): string =>
        `new URL(${JSON.stringify(pathToFileURL(outputOf(join(dirname(relative(SOURCES, path)), `${name}.ts`))).href)})`;
      const contents = text
        .replaceAll(COMPANION, companion)
        .replaceAll('import.meta.dir', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.require', 'require');
      if (contents.includes('import.meta'))
        throw new Error(`The build knows no place for import.meta in ${path}`);
      return { contents, loader: 'ts' };
    });
  },
};

/** It asks for the folder of a package in a way that only the other form of modules has, and catches the error. */
const pdfWithoutMeta: BunPlugin = {
  name: 'pdf-without-meta',
  setup(build) {
    build.onLoad({ filter: /\/unpdf\/dist\/index\.mjs$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split('import.meta.resolve("pdfjs-dist/package.json")');
      if (parts.length !== 2) throw new Error('unpdf asks for its folder in another way in this version');
      return { contents: parts.join('undefined'), loader: 'js' };
    });
  },
};

async function build(sources: readonly Source[]): Promise<void> {
  const entries = ['main.ts', ...sources.flatMap(companionsOf)];
  const outdir = `${OUTPUT}.${process.pid}.new`;
  try {
    const { outputs } = await Bun.build({
      entrypoints: entries.map((entry) => join(SOURCES, entry)),
      root: SOURCES,
      outdir,
      target: 'bun',
      format: 'cjs',
      bytecode: true,
      plugins: [placesOfSources, pdfWithoutMeta],
    });
    for (const { path } of outputs) {
      const place = join(OUTPUT, relative(outdir, path));
      mkdirSync(dirname(place), { recursive: true });
      renameSync(path, place);
    }
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

function readInputs(): string | undefined {
  try {
    return readFileSync(INPUTS, 'utf8');
  } catch {
    return undefined;
  }
}

const sources = readSources();
const inputs = hashInputs(sources);
if (readInputs() !== inputs) {
  rmSync(INPUTS, { force: true });
  await build(sources);
  writeFileSync(INPUTS, inputs);
}
