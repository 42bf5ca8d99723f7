// Bots on the command line: the same operations by the same rules.

import { expect, test } from 'bun:test';
import { runAdmin } from '../support/admin.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

const admin = (...words: string[]) => runAdmin(database.url, words);

test('a bot is registered, shown, listed and removed', async () => {
  expect((await admin('workspaces', 'create', 'acme')).code).toBe(0);
  const put = ['bots', 'put', 'helper', '--workspace', 'acme', '--mode'];
  const commands = [{ id: 1, name: '/help', reply: 'Ask me.', agent_id: null }];
  const made = await admin(
    ...put,
    'project_number',
    '--audience',
    '17',
    '--jwks',
    'https://keys.example/',
    '--json',
    '--agent',
    'support',
    '--welcome',
    'Hello.',
    '--commands',
    JSON.stringify(commands),
  );
  expect(made.err).toBe('');
  expect(JSON.parse(made.out)).toMatchObject({
    id: 'helper',
    verification: { mode: 'project_number', audience: '17', jwks: 'https://keys.example/' },
    agent_id: 'support',
    welcome_text: 'Hello.',
    commands,
  });
  const account = 'service-17@gcp-sa-gsuiteaddons.iam.gserviceaccount.com';
  const addOn = await admin(
    'bots',
    'put',
    'add-on',
    '--workspace',
    'acme',
    '--mode',
    'endpoint_url',
    '--audience',
    'https://bots.example/',
    '--service-account',
    account,
    '--json',
  );
  expect(JSON.parse(addOn.out)).toMatchObject({ verification: { service_account_email: account } });
  expect((await admin('bots', 'show', 'helper', '--workspace', 'acme')).out).toContain('Hello.');
  expect((await admin('bots', 'list', '--workspace', 'acme')).out).toContain('helper');
  expect(await admin('bots', 'delete', 'helper', '--workspace', 'acme')).toMatchObject({ code: 0 });
  const again = await admin('bots', 'delete', 'helper', '--workspace', 'acme');
  expect(again).toEqual({ code: 1, out: '', err: 'admin: Bot not found\n' });
  const wrong = await admin(...put, 'endpoint_url', '--commands', '[{');
  expect(wrong).toEqual({ code: 1, out: '', err: 'admin: --commands: Input should be a valid list\n' });
});
