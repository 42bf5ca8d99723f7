// Secrets that stand in files.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { freshFolder } from '../support/folders.ts';

const fileWith = (text: string): string => {
  const path = join(freshFolder(), 'secret');
  writeFileSync(path, text);
  return path;
};

test('a secret setting comes from the file that NAME_FILE names, without the line break at its end', () => {
  const config = loadConfig({
    DATABASE_URL_FILE: fileWith('postgres://atrium:hush@db/atrium\n'),
    BOOTSTRAP_API_KEY_FILE: fileWith(`${'k'.repeat(40)}\r\n`),
    BOOTSTRAP_WORKSPACE: 'acme',
    // Empty counts as absent, on both sides.
    MEILI_API_KEY_FILE: '',
    DATABASE_URL: ' ',
  });
  expect(config.databaseUrl).toBe('postgres://atrium:hush@db/atrium');
  expect(config.bootstrap.apiKey).toBe('k'.repeat(40));
  const shown = config.settings.find(({ name }) => name === 'DATABASE_URL');
  expect(shown).toMatchObject({ value: 'postgres://db/atrium', is_set: true });
  expect(JSON.stringify(config.settings)).not.toContain('hush');
});

test('a value of a file is checked as any other, and not shown', () => {
  const environment = { BOOTSTRAP_API_KEY_FILE: fileWith('hush') };
  expect(() => loadConfig(environment)).toThrow('BOOTSTRAP_API_KEY: a value of 4 characters is not allowed');
});

test('a file that cannot be read, that is empty, or that is not the only source is refused by its name', () => {
  expect(() => loadConfig({ DATABASE_URL_FILE: '/nowhere/at/all' })).toThrow(
    /^DATABASE_URL_FILE: \/nowhere\/at\/all: .*ENOENT/,
  );
  expect(() => loadConfig({ DATABASE_URL_FILE: freshFolder() })).toThrow(/^DATABASE_URL_FILE: .*EISDIR/);
  expect(() => loadConfig({ DATABASE_URL_FILE: fileWith(' \n') })).toThrow(
    /^DATABASE_URL_FILE: .* is empty$/,
  );
  expect(() => loadConfig({ DATABASE_URL_FILE: fileWith('a'), DATABASE_URL: 'b' })).toThrow(
    'DATABASE_URL and DATABASE_URL_FILE are both set',
  );
});

test('a setting that is not secret is not looked for in files', () => {
  expect(loadConfig({ PORT_FILE: '/nowhere/at/all' }).server.port).toBe(3000);
});

test('the models file takes its variables from files too, again at each reading', () => {
  const path = fileWith('first\n');
  const { variable } = loadConfig({ MAIN_KEY_FILE: path }).gateway;
  expect(variable('MAIN_KEY')).toBe('first');
  writeFileSync(path, 'second\n');
  expect(variable('MAIN_KEY')).toBe('second');
  expect(variable('OTHER_KEY')).toBeUndefined();
  const text = [
    'upstreams:',
    '  main:',
    '    base_url: https://models.example/v1',
    `    api_key: \${LOST_KEY}`,
  ].join('\n');
  const lost = loadConfig({ LOST_KEY_FILE: '/nowhere/at/all' }).gateway.variable;
  // The mistake is public: it names no path.
  expect(() => parseModelsFile(text, lost)).toThrow(
    /^line 4: upstreams\.main\.api_key names the variable LOST_KEY, whose file LOST_KEY_FILE cannot be used$/,
  );
});
