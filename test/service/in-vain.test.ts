// A start that cannot succeed says so in one line that names the setting, before anything is started.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startInVain } from '../acceptance/support/starts.ts';
import { eventually, freePort, startChild } from '../support/child.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { missingPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { MAIN } from '../support/service.ts';

/** Expects the end of a start with nothing but the one line, and returns the line. */
async function refusal(
  environment: Record<string, string>,
  { code = 2, words = [] as string[] } = {},
): Promise<string> {
  const DATA_DIR = join(freshFolder(), 'data');
  const ended = await startInVain({ DATA_DIR, ...environment }, ...words);
  expect([ended.code, ended.output.trimEnd().split('\n')]).toEqual([code, [expect.any(String)]]);
  expect(existsSync(DATA_DIR)).toBe(false);
  return ended.output.trimEnd();
}

describe('nothing is started', () => {
  test('with a word that is not understood', async () => {
    expect(await refusal({}, { words: ['--port', '3000'] })).toMatch(/^atrium: "--port" is not .*--help/);
  });

  test('with a models file that is absent, has a mistake, or names a variable that is not set', async () => {
    const file = join(freshFolder(), 'models.yaml');
    expect(await refusal({ MODELS_CONFIG: file })).toStartWith(`atrium: MODELS_CONFIG: ${file}: ENOENT`);
    writeFileSync(file, 'models:\n  m: { targets: [] }\n');
    expect(await refusal({ MODELS_CONFIG: file })).toContain(`${file}: line 2: models.m.targets must`);
    writeFileSync(file, `upstreams:\n  main: { base_url: https://x/v1, api_key: "\${ABSENT}" }\n`);
    expect(await refusal({ MODELS_CONFIG: file })).toMatch(/^atrium: MODELS_CONFIG: .*line 2: .*ABSENT/);
  });

  test('with credentials that cannot be read', async () => {
    const environment = { NATS_URL: 'nats://127.0.0.1:4222', NATS_CREDS: '/no/such/file' };
    expect(await refusal(environment)).toStartWith('atrium: NATS_CREDS: /no/such/file: ENOENT');
  });

  test('on a port that somebody has, with one process and with several, nor with such a port of the store', async () => {
    const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const port = String(listener.port);
    for (const PROCESSES of ['1', '2']) {
      const line = await refusal({ PORT: port, PROCESSES }, { code: 1 });
      expect(line).toStartWith(`atrium: PORT: ${port} is in use on 127.0.0.1 `);
    }
    const line = await refusal({ OBJECT_STORE_PORT: port }, { code: 1 });
    expect(line).toStartWith(`atrium: OBJECT_STORE_PORT: ${port} is in use`);
    listener.stop(true);
  });

  test.each(['192.0.2.1', 'no such host'])(
    'on an address that the machine does not have: %s',
    async (HOST) => {
      expect(await refusal({ HOST })).toStartWith(`atrium: HOST: ${JSON.stringify(HOST)} is no address`);
    },
  );
});

describe('a database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const refuses = async (change: (url: URL) => void): Promise<string> => {
    const url = new URL(database.url);
    change(url);
    const environment = { DATABASE_URL: url.href, DATA_DIR: freshFolder(), LOG_FORMAT: 'json' };
    const { code, output } = await startInVain(environment);
    expect([code, output.trimEnd().split('\n')]).toEqual([1, [expect.any(String)]]);
    return output;
  };

  test('that refuses the password is one line', async () => {
    const output = await refuses((url) => {
      url.password = 'the-wrong-one';
    });
    expect(output).toMatch(/^atrium: DATABASE_URL: the database refuses the connection: .*password/);
    expect(output).not.toContain('the-wrong-one');
  });

  const missing = missingPgBouncer();
  test
    .skipIf(missing !== undefined)
    .each(['', 'atrium.session,statement_timeout,idle_in_transaction_session_timeout'])(
    `that is reached through a pooler which does not keep sessions apart is one line${missing === undefined ? '' : ` (${missing})`}: "%s"`,
    async (ignores) => {
      await using pooler = await startPgBouncer(database.url, { ignores });
      const output = await refuses((url) => {
        url.port = new URL(pooler.url).port;
      });
      expect(output).toMatch(
        /^atrium: DATABASE_URL: a connection pooler.*LISTEN.*name the Postgres server itself/,
      );
    },
  );

  test('that does not exist is one line', async () => {
    const output = await refuses((url) => {
      url.pathname = '/no_such_database';
    });
    expect(output).toMatch(/^atrium: DATABASE_URL: .*"no_such_database" does not exist/);
  });

  test('that cannot be reached yet is one line, with the reason and how long it is waited for', async () => {
    const noTls = new URL(database.url);
    noTls.searchParams.set('sslmode', 'require');
    expect(await wait(`postgres://nobody@127.0.0.1:${freePort()}/none`)).toContain('ECONNREFUSED');
    expect(await wait(noTls.href)).toContain('TLS');
  });

  /** The reason in the one line of a start that waits. */
  async function wait(DATABASE_URL: string): Promise<string> {
    const environment = { PORT: '0', DATA_DIR: freshFolder(), DATABASE_URL, LOG_FORMAT: 'json' };
    const child = startChild([process.execPath, MAIN], { environment });
    await eventually('the wait', () => child.output().includes('waiting for it'));
    const told = child.output().trimEnd().split('\n');
    child.kill('SIGKILL');
    await child.exited;
    expect(told).toHaveLength(1);
    const { reason, ...line } = JSON.parse(told[0] ?? '') as { reason: string };
    expect(line).toEqual({
      level: 'warn',
      time: expect.any(String),
      msg: 'the database is not reachable yet; waiting for it, 30 s at most',
    });
    return reason;
  }
});
