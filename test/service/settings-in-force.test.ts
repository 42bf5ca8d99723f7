// The settings in force, for operators: what is set, what is the default, and no secret.

import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { settingsInForce } from '../../src/core/settings-reader.ts';
import { SETTINGS } from '../../src/settings.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

const inForce = (environment: Record<string, string>) =>
  new Map(settingsInForce(SETTINGS, environment).map((each) => [each.name, each]));

test('a setting shows what is in force, whether it is set, and the default', () => {
  const settings = inForce({ PORT: ' 8080 ', LOG_LEVEL: '' });
  expect(settings.get('PORT')).toMatchObject({ value: '8080', default: '3000', is_set: true });
  expect(settings.get('LOG_LEVEL')).toMatchObject({ value: 'info', default: 'info', is_set: false });
  expect(settings.get('S3_ENDPOINT')).toMatchObject({ value: null, default: 'embedded object store' });
  expect([...settings.keys()]).toEqual(Object.keys(SETTINGS));
});

test('a secret shows only whether it is set, and a URL has no user, password and query', () => {
  const settings = inForce({
    OPENAI_API_KEY: 'sk-hush',
    BOOTSTRAP_API_KEY: 'hush'.repeat(10),
    DATABASE_URL: 'postgres://user:hu:sh@db.example:5432/atrium?password=hush#hush',
    NATS_URL: 'nats://hush@a.example:4222, tls://user:hush@b.example',
    OPENAI_BASE_URL: 'https://user:hush@models.example/v1?key=hush',
  });
  expect(JSON.stringify([...settings.values()])).not.toMatch(/hush|hu:sh/);
  expect(settings.get('OPENAI_API_KEY')).toMatchObject({ value: null, is_set: true, is_secret: true });
  expect(settings.get('MEILI_API_KEY')).toMatchObject({ value: null, is_set: false, is_secret: true });
  expect(settings.get('DATABASE_URL')?.value).toBe('postgres://db.example:5432/atrium');
  expect(settings.get('NATS_URL')?.value).toBe('nats://a.example:4222,tls://b.example');
  expect(settings.get('OPENAI_BASE_URL')?.value).toBe('https://models.example/v1');
});

test('a table that is JSON is shown with a row on each line', () => {
  const roles =
    '[{"group":"a","workspace":"acme","scopes":["chat","models"]},{"group":"b","workspace":"acme","scopes":["chat"]}]';
  expect(inForce({ OIDC_ROLES: roles }).get('OIDC_ROLES')?.value).toBe(
    '{ "group": "a", "workspace": "acme", "scopes": [ "chat", "models" ] }\n' +
      '{ "group": "b", "workspace": "acme", "scopes": [ "chat" ] }',
  );
  for (const odd of ['[', '{"a":1}', '5'])
    expect(inForce({ OIDC_ROLES: odd }).get('OIDC_ROLES')?.value).toBe(odd);
});

test('a comma in the password of a URL shows nothing of the password', () => {
  const settings = inForce({ DATABASE_URL: 'postgres://user:12345,hush@db.example/atrium' });
  expect(settings.get('DATABASE_URL')?.value).toBe('postgres://db.example/atrium');
});

test('a database of several hosts is shown with all of them, and refused with attributes that do not write', () => {
  const several = 'postgres://user:hush@one.example:5433,[::1],two.example/atrium?target_session_attrs=';
  const settings = inForce({ DATABASE_URL: `${several}read-write` });
  expect(settings.get('DATABASE_URL')?.value).toBe('postgres://one.example:5433,[::1],two.example/atrium');
  expect(loadConfig({ DATABASE_URL: `${several}primary` }).databaseUrl).toEndWith('primary');
  for (const DATABASE_URL of [
    `${several}standby`,
    'postgres://one.example,/atrium',
    'postgres://one.example:port,two/atrium',
  ])
    expect(() => loadConfig({ DATABASE_URL })).toThrow(
      /^DATABASE_URL: a value of \d+ characters is not allowed; expected .*read-write/,
    );
});

test('operators read them with the versions; administrators of a workspace do not', async () => {
  await using service = await startService({ environment: { OPENAI_API_KEY: '', LOG_LEVEL: 'warn' } });
  const read = (key: string) =>
    fetch(`${service.url}/admin/api/settings`, { headers: { authorization: `Bearer ${key}` } });
  const response = await read(BOOTSTRAP_KEY);
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(text).not.toContain(BOOTSTRAP_KEY);
  const { versions, settings } = JSON.parse(text) as {
    versions: Record<string, string | null>;
    settings: { name: string; value: string | null }[];
  };
  expect(versions).toMatchObject({
    atrium: expect.any(String),
    bun: Bun.version,
    postgres: expect.stringMatching(/^\d+/),
    schema: expect.stringMatching(/^\d{4}-/),
  });
  expect(settings.find(({ name }) => name === 'LOG_LEVEL')?.value).toBe('warn');
  const made = await fetch(`${service.url}/admin/api/workspaces/${WORKSPACE}/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BOOTSTRAP_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'admin', scopes: ['admin'] }),
  });
  expect((await read(((await made.json()) as { key: string }).key)).status).toBe(403);
});
