import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommandLine } from '../../src/admin/command-line.ts';
import { COMMANDS, GROUPS } from '../../src/admin/commands.ts';
import { type AdminResult, runAdmin } from '../support/admin.ts';
import { freshFolder } from '../support/folders.ts';
import { shared } from '../support/shared.ts';
import { startAdministration, WORKSPACE } from './administration.ts';

const ADMIN = join(import.meta.dir, '../../src/admin.ts');
const administration = await shared(startAdministration());

/** Runs the command as an operator would, words separated by blanks. */
const admin = (words: string, url = administration.database.url): Promise<AdminResult> =>
  runAdmin(url, words.split(' '));

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

test('a key made on the command line is good for what was asked, and is revoked by it', async () => {
  const made = await admin(
    `keys create --workspace ${WORKSPACE} --scopes documents:read,metrics --expires 90d`,
  );
  expect(made).toMatchObject({ code: 0, err: '' });
  const text = lastLine(made.out);
  expect(text).toMatch(/^atr_[0-9A-Za-z]{39}$/);
  const principal = await administration.access.authenticators.key(text);
  expect(principal).toMatchObject({ workspaceId: WORKSPACE, email: `admin@${WORKSPACE}.localhost` });
  expect([...(principal?.scopes ?? [])]).toEqual(['documents:read', 'metrics']);

  const listed = await admin(`keys list --workspace ${WORKSPACE} --json`);
  const { items } = JSON.parse(listed.out) as { items: { id: string; name: string; expires_at: string }[] };
  const item = items.find(({ id }) => id === principal?.keyId);
  expect(item?.name).toBe('documents:read,metrics');
  const days = (Date.parse(item?.expires_at ?? '') - Date.now()) / 86_400_000;
  expect(days).toBeWithin(89.9, 90.1);
  expect(listed.out).not.toContain(text);

  const revoked = await admin(`keys revoke ${principal?.keyId} --workspace ${WORKSPACE}`);
  expect(revoked).toEqual({ code: 0, out: 'Done.\n', err: '' });
  const again = await admin(`keys revoke ${principal?.keyId} --workspace ${WORKSPACE}`);
  expect(again).toEqual({ code: 1, out: '', err: 'admin: Key not found\n' });
});

test('every option reaches the operation, in JSON as over HTTP', async () => {
  const words = `keys create --workspace ${WORKSPACE} --json --name n --scopes chat --user Ada@Example.com`;
  const limits = '--requests-per-minute 60 --tokens-per-minute 1000 --budget-per-month 2.5';
  const made = await admin(`${words} --expires 2999-01-01 ${limits}`);
  const key = JSON.parse(made.out) as { id: string };
  expect(key).toMatchObject({
    name: 'n',
    scopes: ['chat'],
    user_email: 'ada@example.com',
    expires_at: '2999-01-01T00:00:00.000Z',
    limits: { requests_per_minute: 60, tokens_per_minute: 1000, budget_per_month: 2.5 },
  });
  const changed = await admin(`keys update ${key.id} --workspace ${WORKSPACE} --disable --json`);
  expect(JSON.parse(changed.out)).toMatchObject({ disabled: true });
  const enabled = await admin(`keys update ${key.id} --workspace ${WORKSPACE} --enable --json`);
  expect(JSON.parse(enabled.out)).toMatchObject({ disabled: false });
  const rotated = await admin(`keys rotate ${key.id} --workspace ${WORKSPACE} --grace-seconds 60 --json`);
  expect(JSON.parse(rotated.out)).toMatchObject({ name: 'n', user_email: 'ada@example.com' });
});

test('workspaces and people are administered too', async () => {
  expect(await admin('workspaces create made-here --name Here')).toMatchObject({ code: 0 });
  expect((await admin('workspaces list')).out).toMatch(/^made-here +Here +\d{4}-/m);
  const made = await admin('users create --workspace made-here --email B@example.com --json');
  const user = JSON.parse(made.out) as { id: string; email: string };
  expect(user.email).toBe('b@example.com');
  const renamed = await admin(`users update ${user.id} --workspace made-here --name Bo`);
  expect(renamed.out).toMatch(/^name +Bo$/m);
  expect((await admin('users list --workspace made-here')).out).toMatch(/b@example\.com +Bo/);
  expect(await admin(`users delete ${user.id} --workspace made-here`)).toMatchObject({ code: 0 });
  expect((await admin('users list --workspace made-here')).out).toBe('There are none.\n');
});

const REFUSED: [string, string][] = [
  ['workspaces create Acme', '<name>: expected 2 to 63 of a-z, 0-9 and -, the first no -, such as acme'],
  ['workspaces create admin', '<name>: Value error, this name is reserved'],
  [`workspaces create ${WORKSPACE}`, 'A workspace of this name exists'],
  ['keys list --workspace nowhere', 'Workspace not found'],
  [`keys create --workspace ${WORKSPACE} --scopes chat,all`, "--scopes: Input should be 'documents:read'"],
  [
    `keys create --workspace ${WORKSPACE} --scopes chat --expires 2001-01-01`,
    '--expires: Value error, the expiry must',
  ],
  [
    `keys create --workspace ${WORKSPACE} --scopes chat --requests-per-minute x`,
    '--requests-per-minute: Input should be',
  ],
  [`keys revoke 12 --workspace ${WORKSPACE}`, '<key id>: Input should be a valid UUID'],
];

test.each(REFUSED)('%s is refused in one line, with exit code 1', async (words, sentence) => {
  const refused = await admin(words);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toStartWith(`admin: ${sentence}`);
  expect(refused.err.trimEnd()).not.toContain('\n');
});

const NOT_UNDERSTOOD: [string, string][] = [
  ['kesy', 'there is no command "kesy"; did you mean "keys"?'],
  ['key creat', 'there is no command "key creat"; did you mean "keys create"?'],
  ['keys destroy x', 'there is no command "keys destroy"; see bun run admin keys --help'],
  ['nothing like it', 'there is no command "nothing like"; see bun run admin --help'],
  [`keys ${'x'.repeat(100_000)}`, 'there is no command "keys xxx'],
  ['keys list', 'keys list needs --workspace'],
  ['keys create --workspace acme', 'keys create needs --scopes'],
  ['keys revoke --workspace acme', 'keys revoke needs a <key id>'],
  ['keys list extra --workspace acme', 'keys list does not take "extra"'],
  ['keys list --workspace acme --email x', "Unknown option '--email'"],
  ['keys update x --workspace acme --enable --disable', '--enable and --disable exclude each other'],
];

test.each(NOT_UNDERSTOOD)(
  '%s is not understood: one line, exit code 2, and the database is left alone',
  async (words, sentence) => {
    const refused = await admin(words, 'postgres://nobody@127.0.0.1:1/none');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toStartWith(`admin: ${sentence}`);
    expect(refused.err.trimEnd()).not.toContain('\n');
  },
);

test('a setting that cannot be is told in one line, with exit code 2', async () => {
  const refused = await admin('workspaces list', 'mysql://localhost/x');
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toStartWith('admin: DATABASE_URL: ');
  expect(refused.err.trimEnd()).not.toContain('\n');
});

test('every command is of a group, and the example of each group is understood', () => {
  for (const { words } of COMMANDS) expect(Object.keys(GROUPS)).toContain(words.split(' ')[0] ?? '');
  for (const [name, { example }] of Object.entries(GROUPS)) {
    expect(example).toStartWith(`${name} `);
    expect(parseCommandLine(example.split(' '), new Date())).not.toHaveProperty('help');
  }
});

test.each([['workspaces list', 'database']])(
  '%s is refused in one line in a folder without a %s, and nothing is made there',
  async (words, what) => {
    const folder = freshFolder();
    const child = Bun.spawn([process.execPath, ADMIN, ...words.split(' ')], {
      env: { PATH: process.env['PATH'], DATA_DIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    expect(await child.exited).toBe(2);
    expect(await new Response(child.stderr).text()).toMatch(
      new RegExp(`^admin: DATA_DIR: ".*" holds no ${what}; .*\n$`),
    );
    expect(readdirSync(folder)).toEqual([]);
  },
);

test('the help names every command, and with a command its options', async () => {
  const all = await admin('--help');
  expect(all).toMatchObject({ code: 0, err: '' });
  for (const { words } of COMMANDS) expect(all.out).toContain(`  ${words}`);
  for (const typed of ['keys', 'keys --help', 'help keys']) {
    const group = await admin(typed);
    expect(group).toMatchObject({ code: 0, err: '' });
    expect(group.out).toContain('keys create --workspace acme --scopes');
    expect(group.out).toContain('--grace-seconds <n>');
    expect(group.out).not.toContain('users create');
  }
  const one = await admin('keys rotate --help');
  expect(one.out).toContain('--grace-seconds <n>');
  expect(one.out).not.toContain('workspaces create');
});

test('agents are put, shown, listed and deleted', async () => {
  const workspace = `--workspace ${WORKSPACE}`;
  const replies = '[{"match":"*","reply":"Yes"}]';
  const made = await admin(
    `agents put helper ${workspace} --name Helper --kind bot --replies ${replies} --default`,
  );
  expect(made).toMatchObject({ code: 0, err: '' });
  const shown = JSON.parse((await admin(`agents show helper ${workspace} --json`)).out);
  expect(shown).toMatchObject({
    id: 'helper',
    kind: 'bot',
    replies: [{ match: '*', reply: 'Yes' }],
    default: true,
  });
  const { items } = JSON.parse((await admin(`agents list ${workspace} --json`)).out);
  expect(items).toEqual([shown]);
  const wrong = await admin(`agents put helper ${workspace} --name Helper --kind bot --replies nonsense`);
  expect(wrong).toMatchObject({ code: 1, out: '' });
  expect(wrong.err).toContain('--replies');
  expect(await admin(`agents delete helper ${workspace}`)).toEqual({ code: 0, out: 'Done.\n', err: '' });
  expect(await admin(`agents delete helper ${workspace}`)).toEqual({
    code: 1,
    out: '',
    err: 'admin: Agent not found\n',
  });
});
