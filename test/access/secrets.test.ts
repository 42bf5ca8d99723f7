import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { type Answer, OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const OWN = `/admin/api/workspaces/${WORKSPACE}`;
const administration = await shared(startAdministration());

/** Everything the database holds, as text. */
async function dumpDatabase(): Promise<string> {
  const tables = await administration.sql<{ name: string }[]>`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;
  const rows = await Promise.all(
    tables.map(({ name }) => administration.sql.unsafe(`SELECT row_to_json(t)::text AS row FROM ${name} t`)),
  );
  return JSON.stringify(rows);
}

test('a secret is in the one answer that makes it: not in lists, refusals, log lines or the database', async () => {
  const { ask, lines } = administration;
  const key = OPERATOR_KEY;
  const made = await ask('POST', `${OWN}/keys`, { key, body: { name: 'k', scopes: ['admin'] } });
  const rotated = await ask('POST', `${OWN}/keys/${made.body.id}/rotate`, { key });
  const signedIn = await ask('POST', '/admin/api/session', { body: { key: rotated.body.key } });
  const cookie = /atrium_session=([\w-]+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? '';
  const guess = 'a-guess-that-nobody-should-see-0123456789';
  const headers = { cookie: `atrium_session=${cookie}` };
  const answers: Answer[] = [
    await ask('GET', `${OWN}/keys`, { key: rotated.body.key }),
    await ask('GET', `${OWN}/users`, { headers }),
    await ask('GET', '/admin/api/workspaces', { headers: { authorization: `Bearer ${key}` } }),
    await ask('GET', `${OWN}/keys`, { key: made.body.key }),
    await ask('GET', `${OWN}/keys`, { key: guess }),
    await ask('POST', '/admin/api/session', { body: { key: guess } }),
    await ask('PATCH', `${OWN}/keys/${rotated.body.id}`, { key, body: { name: 'renamed' } }),
    await ask('DELETE', `${OWN}/keys/${rotated.body.id}`, { key: rotated.body.key }),
    await ask('DELETE', '/admin/api/session', { headers }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 401, 401, 401, 200, 204, 204]);
  await administration.first.lifecycle.settle();

  const told = answers.map(({ text }) => text).join('\n') + JSON.stringify(lines) + (await dumpDatabase());
  expect(lines.length).toBeGreaterThan(answers.length);
  for (const secret of [key, made.body.key, rotated.body.key, cookie, guess]) {
    expect(secret.length).toBeGreaterThan(30);
    expect(told).not.toContain(secret);
  }
});
