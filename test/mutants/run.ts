// Plants each mistake of the list in a copy of the tree and runs the test that has to notice it, on one Postgres.
// `bun run test:mutants [words]` takes ten seconds or so a mistake; words choose mistakes by their sentence, file or test.
// `bun run test:guarantees [words]` plants those of the guarantees alone; words choose by the guarantee, too. Both end
// with 1 where a mistake was not noticed.

import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sharedBy, startServer } from '../support/database.ts';
import { openRunFolder } from '../support/run-folder.ts';
import { guarantees } from './guarantees.ts';
import type { Planted } from './mistake.ts';
import { planted } from './planted.ts';

const ROOT = resolve(import.meta.dir, '../..');
const TEST_TIMEOUT_MS = '120000';
const RUN_TIMEOUT_MS = 300_000;
/** What is shown of a test that fails without any mistake. */
const END_CHARACTERS = 2_000;
const NOT_COPIED = ['.git', 'node_modules'];

/** `failed`: the name of the first test that failed. One that could not even be read, or found, has noticed nothing. */
type Outcome = { passed: boolean; failed: string | undefined; end: string };

const { values, positionals: words } = parseArgs({
  options: { guarantees: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const run = openRunFolder();
const copy = join(run.folder, 'tree');
const server = await startServer();

function copyTree(): void {
  mkdirSync(copy);
  for (const name of readdirSync(ROOT).filter((each) => !NOT_COPIED.includes(each)))
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
}

let runs = 0;

/** `names`: parts of the names of the tests; none: all of the file. `file`: where the mistake is. */
async function runTest(test: string, names: readonly string[], file = ''): Promise<Outcome> {
  const filter =
    names.length === 0 ? [] : ['--test-name-pattern', names.map((name) => RegExp.escape(name)).join('|')];
  const output = Bun.file(join(run.folder, `output-${++runs}`));
  // The databases of the server have all migrations as they should be.
  const shared = file.includes('/migrations/') ? {} : sharedBy(server);
  const tests = Bun.spawn([process.execPath, 'test', '--no-orphans', '--bail=1', `./${test}`, ...filter], {
    cwd: copy,
    stdio: ['ignore', 'ignore', output],
    timeout: RUN_TIMEOUT_MS,
    env: { ...process.env, ...shared, TEST_TIMEOUT_MS },
  });
  const code = await tests.exited;
  const text = await output.text();
  return {
    passed: code === 0 && /^ *[1-9]\d* pass$/m.test(text),
    end: text.slice(-END_CHARACTERS),
    failed: /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/m.exec(text)?.[1],
  };
}

const say = ({ passed, failed }: Outcome): string =>
  passed ? 'passed' : failed === undefined ? 'did not run' : `failed: ${failed}`;

/** Kernels are compiled, from what stands in their sources now. */
function compileKernels(file: string): void {
  if (!file.startsWith('assembly/')) return;
  const { exitCode, stderr } = Bun.spawnSync(['sh', 'assembly/build.sh'], { cwd: copy });
  if (exitCode !== 0) throw new Error(`the kernels do not compile: ${stderr}`);
}

async function plant({ file, text, replacement, test, name }: Planted): Promise<Outcome> {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    source.replace(text, () => replacement),
  );
  try {
    compileKernels(file);
    return await runTest(test, name === undefined ? [] : [name], file);
  } finally {
    writeFileSync(path, source);
    compileKernels(file);
  }
}

/** Mistake → the guarantee that it breaks, where only those are asked for. */
const broken = new Map(guarantees.flatMap(({ says, mistakes }) => mistakes.map((each) => [each, says])));

function isChosen({ mistake, file, test }: Planted): boolean {
  const says = broken.get(mistake);
  if (values.guarantees && says === undefined) return false;
  const texts = [mistake, file, test, says ?? ''];
  return words.length === 0 || words.some((word) => texts.some((text) => text.includes(word)));
}

/** Test file → whether those of its tests that are asked for pass without any mistake: else they notice none. */
const sound = new Map<string, Promise<Outcome>>();

function isSound(test: string, chosen: readonly Planted[]): Promise<Outcome> {
  const names = new Set(chosen.filter((each) => each.test === test).map(({ name }) => name));
  const known = [...names].filter((name) => name !== undefined);
  const outcome = sound.get(test) ?? runTest(test, names.has(undefined) ? [] : known);
  sound.set(test, outcome);
  return outcome;
}

/** The area of each file that lists mistakes is its name. */
const areaOf = new Map<Planted, string>();
for (const file of readdirSync(join(import.meta.dir, 'planted'))) {
  const lists: Record<string, readonly Planted[]> = await import(`./planted/${file}`);
  for (const each of Object.values(lists).flat()) areaOf.set(each, basename(file, '.ts'));
}

async function plantAll(): Promise<boolean> {
  copyTree();
  // Guarantees first, and what takes minutes last.
  const placeOf = ({ mistake, test }: Planted): number =>
    Number(test.startsWith('test/faults/')) * 2 + Number(!broken.has(mistake));
  const chosen = planted.filter(isChosen).sort((a, b) => placeOf(a) - placeOf(b));
  const noticed = new Set<Planted>();
  for (const each of chosen) {
    const startedAt = performance.now();
    const without = await isSound(each.test, chosen);
    const outcome = without.passed ? await plant(each) : undefined;
    if (outcome?.failed !== undefined) noticed.add(each);
    const took = `${Math.round((performance.now() - startedAt) / 1000)} s`;
    const what = `${each.mistake} (${each.test}, ${took})`;
    if (noticed.has(each)) process.stdout.write(`noticed      ${what} by: ${outcome?.failed}\n`);
    else if (outcome !== undefined) process.stdout.write(`NOT NOTICED  ${what}: the test ${say(outcome)}\n`);
    else process.stdout.write(`NOT NOTICED  ${what}: without it the test ${say(without)}\n${without.end}\n`);
  }
  for (const [area, all] of Map.groupBy(chosen, (each) => areaOf.get(each)))
    process.stdout.write(`${area}: ${all.filter((each) => noticed.has(each)).length} of ${all.length}\n`);
  process.stdout.write(`${noticed.size} of ${chosen.length} planted mistakes were noticed\n`);
  return chosen.length > 0 && noticed.size === chosen.length;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
const isWhole = await plantAll();
await server.end();
await run.close();
process.exit(isWhole ? 0 : 1);
