// Plants each mistake of the list in a copy of the tree and runs the test that has to notice it.
// `bun run test:mutants [words]` takes minutes; words choose mistakes by their sentence, file or test.
// `bun run test:guarantees [words]` plants those of the guarantees alone; words choose by the guarantee, too. Both end
// with 1 where a mistake was not noticed.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { guarantees } from './guarantees.ts';
import type { Planted } from './mistake.ts';
import { planted } from './planted.ts';

const ROOT = resolve(import.meta.dir, '../..');
/** What the tests read, beside the packages. */
const COPIED = [
  'assembly',
  'bench',
  'build',
  'docs',
  'src',
  'test',
  'README.md',
  'bunfig.toml',
  'package.json',
  'tsconfig.json',
];
const TEST_TIMEOUT_MS = 30_000;
const RUN_TIMEOUT_MS = 300_000;

type Outcome = 'passed' | 'failed' | 'did not run';

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** A test that could not even be read, or found, has noticed nothing. */
function runTest(copy: string, { test, name }: Pick<Planted, 'test' | 'name'>): Outcome {
  const filter = name === undefined ? [] : ['--test-name-pattern', RegExp.escape(name)];
  const { status, stderr } = spawnSync(
    process.execPath,
    ['test', `./${test}`, '--timeout', `${TEST_TIMEOUT_MS}`, ...filter],
    { cwd: copy, encoding: 'utf8', timeout: RUN_TIMEOUT_MS, maxBuffer: 2 ** 28 },
  );
  const count = (what: string): number =>
    Number(new RegExp(`^ *(\\d+) ${what}$`, 'm').exec(stderr)?.[1] ?? 0);
  if (status === 0 && count('pass') > 0) return 'passed';
  return count('fail') > 0 ? 'failed' : 'did not run';
}

/** Kernels are compiled, from what stands in their sources now. */
function compileKernels(copy: string, file: string): void {
  if (!file.startsWith('assembly/')) return;
  const { status, stderr } = spawnSync('sh', ['assembly/build.sh'], { cwd: copy, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the kernels do not compile: ${stderr}`);
}

/** Why the mistake was not noticed; undefined: it was. */
function plant(copy: string, { file, text, replacement, ...rest }: Planted): string | undefined {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(text).length !== 2) return `the text is not found exactly once in ${file}`;
  writeFileSync(
    path,
    source.replace(text, () => replacement),
  );
  try {
    compileKernels(copy, file);
    const outcome = runTest(copy, rest);
    return outcome === 'failed' ? undefined : `the test ${outcome}`;
  } finally {
    writeFileSync(path, source);
    compileKernels(copy, file);
  }
}

const { values, positionals: words } = parseArgs({
  options: { guarantees: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** Mistake → the guarantee that it breaks, where only those are asked for. */
const broken = new Map(guarantees.flatMap(({ says, mistakes }) => mistakes.map((each) => [each, says])));
const chosen = planted.filter(({ mistake, file, test }) => {
  const says = broken.get(mistake);
  if (values.guarantees && says === undefined) return false;
  const texts = [mistake, file, test, says ?? ''];
  return words.length === 0 || words.some((word) => texts.some((text) => text.includes(word)));
});
const copy = copyTree();
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));
let unnoticed = 0;
/** Whether the test passes without any mistake: else it notices none. */
const sound = new Map<string, Outcome>();
for (const each of chosen) {
  const key = `${each.test} ${each.name ?? ''}`;
  const outcome = sound.get(key) ?? runTest(copy, each);
  sound.set(key, outcome);
  const reason = outcome === 'passed' ? plant(copy, each) : `without it the test ${outcome}`;
  if (reason !== undefined) unnoticed += 1;
  const what = `${each.mistake} (${each.test})`;
  process.stdout.write(reason === undefined ? `noticed      ${what}\n` : `NOT NOTICED  ${what}: ${reason}\n`);
}
process.stdout.write(`${chosen.length - unnoticed} of ${chosen.length} planted mistakes were noticed\n`);
process.exitCode = unnoticed === 0 && chosen.length > 0 ? 0 : 1;
