// Every command of the command line is run, as an operator runs it, and every command that a page or a help prints is understood.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommandLine } from '../../src/admin/command-line.ts';
import { COMMANDS, GROUPS } from '../../src/admin/commands.ts';
import { startStore, storeOptions } from '../object-store/fixture.ts';
import { runAdminWith } from '../support/admin.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const ROOT = join(import.meta.dir, '../..');

/** In this order, with `<id>` of what the command before has made. */
const RUN: readonly string[] = [
  'workspaces create acme',
  'workspaces list',
  'users create --workspace acme --email ada@example.com',
  'users update <id> --workspace acme --name Ada',
  'users list --workspace acme',
  'users delete <id> --workspace acme',
  'keys create --workspace acme --scopes chat',
  'keys update <id> --workspace acme --name new',
  'keys list --workspace acme',
  'keys rotate <id> --workspace acme',
  'keys revoke <id> --workspace acme',
  'agents put helper --workspace acme --name Helper --kind persona',
  'agents show helper --workspace acme',
  'agents list --workspace acme',
  'agents delete helper --workspace acme',
  'bots put helper --workspace acme --mode key',
  'bots show helper --workspace acme',
  'bots list --workspace acme',
  'bots delete helper --workspace acme',
  'content show --workspace acme',
  'content set off --workspace acme',
  'model-usage show --workspace acme',
  'dead-letters list --workspace acme',
  'dead-letters replay --workspace acme',
  'dead-letters purge --workspace acme',
  'audit show --workspace acme',
  'audit service',
  'bucket show',
  'bucket adopt',
  'search reindex',
  'search verify',
];

/** Commands that need a whole service with its files: the test that runs each. */
const RUN_ELSEWHERE: Readonly<Record<string, [file: string, call: string]>> = {
  backup: ['test/backup/command.test.ts', "admin(['backup'"],
  verify: ['test/backup/command.test.ts', "admin(['verify'"],
  restore: ['test/backup/command.test.ts', "admin(['restore'"],
  move: ['test/backup/command.test.ts', "admin(['move'"],
  'move cancel': ['test/faults/move-crash.test.ts', "['move', 'cancel']"],
};

const wordsOf = (line: string): string => {
  const found = COMMANDS.filter(({ words }) => line === words || line.startsWith(`${words} `));
  return found.map(({ words }) => words).sort((a, b) => b.length - a.length)[0] ?? line;
};

test('every command of the help is run by a test', () => {
  const run = [...RUN.map(wordsOf), ...Object.keys(RUN_ELSEWHERE)].sort();
  expect(run).toEqual(COMMANDS.map(({ words }) => words).sort());
  for (const [words, [file, call]] of Object.entries(RUN_ELSEWHERE))
    expect([words, readFileSync(join(ROOT, file), 'utf8').includes(call)]).toEqual([words, true]);
});

test('each of them does what it says, and its answer is JSON where that is wanted', async () => {
  await using database = await testDatabase();
  const folder = freshFolder();
  await (await startStore(storeOptions(join(folder, 'object-store')))).close();
  const settings = { DATABASE_URL: database.url, DATA_DIR: folder };
  let id = '';
  for (const line of RUN) {
    const words = line.replace('<id>', id).split(' ');
    const { code, out, err } = await runAdminWith(settings, [...words, '--json']);
    expect([line, code, err]).toEqual([line, 0, expect.not.stringContaining('Error')]);
    const answer = JSON.parse(out) as { id?: string; reading?: string };
    if (line === 'content set off --workspace acme') expect(answer).toEqual({ reading: 'off' });
    id = answer.id ?? id;
  }
  const shown = await runAdminWith(settings, ['content', 'show', '--workspace', 'acme']);
  expect(shown).toMatchObject({ code: 0, out: 'reading  off\n', err: '' });
  const audit = await runAdminWith(settings, ['audit', 'show', '--workspace', 'acme']);
  expect(audit.out).toContain('documents.put-content-settings');
});

/** The words of a line as a shell sees them, without what stands behind `#`. */
const wordsIn = (line: string): string[] =>
  (line.replace(/\s#.*$/, '').match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) =>
    word.replaceAll(/^["']|["']$/g, '').replace('…', 'x'),
  );

test('every command that a page, the chart or the help prints is understood', () => {
  const pages = ['README.md', 'docs/**/*.md', 'deploy/**/*.{md,txt,yaml,sh}'].flatMap((pattern) => [
    ...new Bun.Glob(pattern).scanSync(ROOT),
  ]);
  const printed = [
    ...pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/bun run admin ([^\n`|]+)/g)].map(
        ([, line = '']) => line,
      ),
    ),
    ...Object.values(GROUPS).map(({ example }) => example),
  ];
  expect(printed.length).toBeGreaterThan(40);
  const names = new Set([...COMMANDS.map(({ words }) => words), ...Object.keys(GROUPS), '--help']);
  for (const line of printed) {
    const words = wordsIn(line);
    // A sentence may name a command without what it needs.
    if (names.has(words.join(' '))) continue;
    expect([line, parseCommandLine(words, new Date())]).toEqual([line, expect.anything()]);
  }
});

test('the commands that the notes of the chart print make a key, on a database without one', async () => {
  await using database = await testDatabase();
  const notes = readFileSync(join(ROOT, 'deploy/helm/atrium/templates/NOTES.txt'), 'utf8');
  const lines = [...notes.matchAll(/bun run admin (.+)$/gm)].map(([, line = '']) => line);
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    const { code, err } = await runAdminWith({ DATABASE_URL: database.url }, wordsIn(line));
    expect([line, code, err]).toEqual([line, 0, '']);
  }
});
