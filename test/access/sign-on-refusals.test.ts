// Who is not let in by single sign-on, and what a sign-in that is not one's own, or is changed, opens: nothing.

import { expect, test } from 'bun:test';
import { sendRaw } from '../acceptance/support/raw-request.ts';
import { eventually } from '../support/child.ts';
import { CLIENT_SECRET } from '../support/oidc/provider.ts';
import { createVisitor } from '../support/oidc/visitor.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { expectProblem, startSignOn } from './sign-on-setting.ts';

const { provider, url, sql, host, providerHost, output, newPerson, comeBack, callback, signIn, own, ask } =
  await shared(startSignOn());

test('the key of single sign-on bars the person while it is disabled, and cannot be rotated into one that stays', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  await signIn(visitor, name);
  const key = `/admin/api/workspaces/${WORKSPACE}/keys/${(await own(visitor)).body.key_id}`;
  expect((await ask(`${key}/rotate`, 'POST', {})).status).toBe(409);
  expect((await ask(key, 'PATCH', { disabled: true })).status).toBe(200);
  expect((await own(visitor)).status).toBe(401);
  expectProblem(await signIn(createVisitor(), name), 'disabled', 403);
  provider.people.set(name, { ...provider.people.get(name), groups: [] });
  expectProblem(await signIn(createVisitor(), name), 'no-access', 403);
  provider.people.set(name, { ...provider.people.get(name), groups: ['writers'] });
  expectProblem(await signIn(createVisitor(), name), 'disabled', 403);
});

test.each([
  ['no group that opens a workspace', { groups: ['guests'] }, 'no-access'],
  ['a group of a workspace that does not exist', { groups: ['elsewhere'] }, 'no-access'],
  ['groups of another type', { groups: { writers: true } }, 'no-access'],
  ['no e-mail address', { email: undefined }, 'no-email'],
  ['an address that the provider has not verified', { email_verified: false }, 'no-email'],
  ['an address that is none', { email: 'a b@example.com' }, 'no-email'],
  ['an address that no database can hold', { email: 'a\u0000b@example.com' }, 'no-email'],
])(
  'a person with %s gets a page that says what to do, and nothing is made of them',
  async (_what, claims, problem) => {
    const { name } = newPerson(claims);
    const before = await sql`SELECT FROM users`;
    expectProblem(await signIn(createVisitor(), name), problem, 403);
    expect((await sql`SELECT FROM users`).length).toBe(before.length);
  },
);

test('a callback opens a session once, and only in the browser that has left for the provider', async () => {
  const { name } = newPerson();
  const [visitor, thief] = [createVisitor(), createVisitor()];
  const address = await comeBack(visitor, name);
  const cookie = visitor.cookie(host, 'atrium_sign_on') ?? '';
  expectProblem(await callback(thief, address), 'expired', 400);
  await comeBack(thief, newPerson().name);
  expectProblem(await callback(thief, address), 'expired', 400);
  expect((await callback(visitor, address)).status).toBe(200);
  expectProblem(await callback(visitor, address), 'expired', 400);
  visitor.give(host, 'atrium_sign_on', cookie, '/admin/sign-on');
  expectProblem(await callback(visitor, address), 'expired', 400);
});

test('a state that is changed, or that has no code, opens nothing', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  const address = new URL(await comeBack(visitor, name));
  const state = address.searchParams.get('state') ?? '';
  const changed = (change: (query: URLSearchParams) => void): string => {
    const copy = new URL(address);
    change(copy.searchParams);
    return copy.href;
  };
  for (const value of [
    '',
    '.',
    'x',
    `${state}x`,
    `z${state}`,
    state.replace('..', '.research.'),
    '%00',
    'é'.repeat(99),
  ])
    expectProblem(
      await callback(
        visitor,
        changed((query) => query.set('state', value)),
      ),
      'expired',
      400,
    );
  expectProblem(await callback(visitor, `${url}/admin/sign-on/callback`), 'expired', 400);
  expectProblem(
    await callback(
      visitor,
      changed((query) => query.append('state', state)),
    ),
    'untrusted',
    502,
  );
  expectProblem(
    await callback(
      visitor,
      changed((query) => query.delete('code')),
    ),
    'untrusted',
    502,
  );
  expectProblem(
    await callback(
      visitor,
      changed((query) => query.set('iss', 'http://localhost:1')),
    ),
    'untrusted',
    502,
  );
  expectProblem(
    await callback(
      visitor,
      changed((query) => query.set('code', 'another')),
    ),
    'expired',
    400,
  );
});

test('a person who gives up at the provider comes back to a page that says so', async () => {
  const visitor = createVisitor();
  const form = await visitor.visit(`${url}/admin/sign-on`);
  expectProblem(await visitor.visit(`${form.url}/cancel`, { via: [providerHost] }), 'cancelled', 403);
});

test('a page of another site cannot sign people out at the provider', async () => {
  const visitor = createVisitor();
  await signIn(visitor, newPerson().name);
  expect((await visitor.load(`${url}/admin/sign-on/end`, { via: ['evil.example'] })).status).toBe(403);
});

test('neither the log nor the audit log has a code, a state, a cookie or the secret', async () => {
  const { name } = newPerson({ groups: [] });
  const visitor = createVisitor();
  const address = new URL(await comeBack(visitor, name));
  const cookie = visitor.cookie(host, 'atrium_sign_on') ?? '';
  await callback(visitor, address.href);
  await eventually('the line of the refusal', () => output().includes('no-access'));
  const told = `${output()}${JSON.stringify(await ask('/admin/api/audit'))}`;
  for (const secret of [
    address.searchParams.get('code'),
    address.searchParams.get('state'),
    cookie,
    CLIENT_SECRET,
  ]) {
    expect(secret?.length).toBeGreaterThan(20);
    expect(told).not.toContain(secret as string);
  }
});

/** The database takes no row of the table while `work` runs. */
async function withoutRoom(table: string, work: () => Promise<void>): Promise<void> {
  await sql`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`;
  await sql`CREATE TRIGGER refuse BEFORE INSERT ON ${sql(table)} FOR EACH ROW EXECUTE FUNCTION refuse()`;
  try {
    await work();
  } finally {
    await sql`DROP FUNCTION refuse CASCADE`;
  }
}

test.each([
  ['event', 'usage_outbox'],
  ['row of the audit log', 'audit_log'],
])(
  'a sign-in whose %s cannot be kept makes nothing of the person, and says to try again',
  async (_what, table) => {
    const { name, email } = newPerson();
    const visitor = createVisitor();
    const address = await comeBack(visitor, name);
    await withoutRoom(table, async () => expectProblem(await callback(visitor, address), 'database', 503));
    expect(await sql`SELECT FROM users WHERE email = ${email}`).toHaveLength(0);
    expect(await sql`SELECT FROM audit_log WHERE actor = ${email}`).toHaveLength(0);
  },
);

test.each([
  ['prompt=none', [{ loc: ['query', 'prompt'], msg: "Input should be 'login'" }]],
  ['prompt=login&workspace=Not%20a%20name', [{ loc: ['query', 'workspace'] }]],
])('a sign-in with %s is 422 with its mistake', async (query, detail) => {
  const response = await fetch(`${url}/admin/sign-on?${query}`, { redirect: 'manual' });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ detail });
});

test.each(['', '/callback?code=a&state=b', '/end'])(
  'a request to sign-on%s without a Host is 400: it is not the provider that does not answer',
  async (path) => {
    const sent = { head: [`GET /admin/sign-on${path} HTTP/1.0`], host: null };
    const answer = await sendRaw(url, sent);
    expect(answer).toContain(' 400 ');
    expect(answer).not.toContain('provider');
  },
);
