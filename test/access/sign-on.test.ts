// Single sign-on at a real provider, as a browser meets it. Each answer that a real provider cannot be made to give is a fake.

import { expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { sendRaw } from '../acceptance/support/raw-request.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { CLIENT_ID, CLIENT_SECRET, type Fake, startProvider } from '../support/oidc/provider.ts';
import { createVisitor, type Page, type Visitor } from '../support/oidc/visitor.ts';
import { readOutbox } from '../support/outbox.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const provider = await shared(startProvider());
const database = await testDatabase();
const ROLES = [
  { group: 'administrators', workspace: WORKSPACE, scopes: ['admin', 'chat'] },
  { group: 'writers', workspace: WORKSPACE, scopes: ['documents:write', 'chat'] },
  { claim: 'realm_access.roles', value: 'research', workspace: 'research', scopes: ['chat'] },
  { group: 'elsewhere', workspace: 'no-such-workspace', scopes: ['chat'] },
];
const SETTINGS = {
  DATABASE_URL: database.url,
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: CLIENT_ID,
  OIDC_CLIENT_SECRET: CLIENT_SECRET,
  OIDC_ROLES: JSON.stringify(ROLES),
  OIDC_NAME: 'Example <Login>',
  OIDC_SESSION_SECONDS: '3600',
};
// The provider answers only once it knows the service: the service has started before.
const service = await shared(startService({ environment: SETTINGS }));
const { url } = service;
provider.register(url);
const sql = connectPostgres({ url: database.url, applicationName: 'test', log: { warn() {} } as never });
await shared({
  async [Symbol.asyncDispose]() {
    await sql.end({ timeout: 1 });
    await database.drop();
  },
});

const HOST = new URL(url).hostname;
const PROVIDER_HOST = new URL(provider.issuer).hostname;
/** Why the last sign-in failed, as the log says it. */
const lastReason = (): string => {
  const line = service.child
    .output()
    .split('\n')
    .findLast((each) => each.includes('a single sign-on has failed'));
  return line === undefined ? '' : JSON.parse(line).reason;
};

let persons = 0;

/** A person of the provider who is new to the service. */
function newPerson(claims: Record<string, unknown> = {}) {
  const name = `person-${++persons}`;
  const email = `${name}@example.com`;
  provider.people.set(name, {
    email,
    email_verified: true,
    name: `Name of ${name}`,
    groups: ['writers'],
    ...claims,
  });
  return { name, email };
}

/** Goes to the provider and signs in there; the address to which the provider sends the browser back, not yet loaded. */
async function comeBack(visitor: Visitor, name: string, query = ''): Promise<string> {
  const until = /\/admin\/sign-on\/callback/;
  const form = await visitor.visit(`${url}/admin/sign-on${query}`, { until });
  if (until.test(form.url)) return form.url;
  const back = await visitor.visit(form.url, { via: [PROVIDER_HOST], form: { login: name }, until });
  expect(back.url).toStartWith(`${url}/admin/sign-on/callback?`);
  return back.url;
}

const callback = (visitor: Visitor, address: string): Promise<Page> =>
  visitor.load(address, { via: [PROVIDER_HOST] });

async function signIn(visitor: Visitor, name: string, query = ''): Promise<Page> {
  return callback(visitor, await comeBack(visitor, name, query));
}

const own = async (visitor: Visitor) => {
  const page = await visitor.load(`${url}/admin/api/session`, { via: [HOST] });
  return { status: page.status, body: JSON.parse(page.text) };
};

const ask = async (path: string, method = 'GET', body?: object) => {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
};

/** The page says what to do, leads to the portal's sign-in, and sets no session. */
function expectProblem(page: Page, problem: string, status: number): void {
  expect([page.status, page.text.match(/url=([^"]+)"/)?.[1]]).toEqual([
    status,
    `/admin/sign-in?problem=${problem}`,
  ]);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.getSetCookie().filter((line) => line.startsWith('atrium_session='))).toEqual([]);
}

/** While `work` runs, the provider is replaced by the fake where that answers. */
async function withFake(answer: Fake, work: () => Promise<void>): Promise<void> {
  provider.fake.answer = answer;
  try {
    await work();
  } finally {
    provider.fake.answer = undefined;
  }
}

type Sign = (claims: JWTPayload) => Promise<string>;

const signWith = (jwk: JWK, claims: JWTPayload): Promise<string> =>
  importJWK(jwk, 'RS256').then((key) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'test' }).sign(key),
  );

/** The right claims for a sign-in with this nonce; the person is known to the fake alone. */
const rightClaims = (nonce: string): JWTPayload => {
  const now = Math.floor(Date.now() / 1000);
  return { iss: provider.issuer, aud: CLIENT_ID, sub: 'forged', nonce, iat: now, exp: now + 600 };
};

/** Answers the exchange of a code in the provider's place, with this ID token. */
const answerWith =
  (token: string): Fake =>
  (request, response) => {
    const answers: Record<string, object> = {
      '/token': { access_token: 'opaque', token_type: 'Bearer', id_token: token },
      '/me': { sub: 'forged', email: 'forged@example.com', groups: ['writers'] },
    };
    const answer = answers[request.url ?? ''];
    if (answer === undefined) return false;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
    return true;
  };

test('the page that signs in names the provider, whose name is text', async () => {
  const page = await createVisitor().load(`${url}/admin/sign-in`);
  expect(page.text).toContain(
    '<meta name="atrium-sign-on" content="Example &lt;Login&gt;" data-url="/admin/sign-on">',
  );
});

test('the way to the provider has PKCE, state and nonce, and a short-lived cookie that the way back needs', async () => {
  const answer = await createVisitor().load(`${url}/admin/sign-on`);
  expect(answer.status).toBe(303);
  const target = new URL(answer.headers.get('location') ?? '');
  expect(target.origin).toBe(provider.issuer);
  const { state, nonce, code_challenge, ...rest } = Object.fromEntries(target.searchParams);
  expect(rest).toEqual({
    client_id: CLIENT_ID,
    code_challenge_method: 'S256',
    redirect_uri: `${url}/admin/sign-on/callback`,
    response_type: 'code',
    scope: 'openid email profile',
  });
  expect(new Set([state, nonce, code_challenge]).size).toBe(3);
  expect(answer.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^atrium_sign_on=[\w-]{43}; HttpOnly; SameSite=Lax; Path=\/admin\/sign-on; Max-Age=600$/,
    ),
  ]);
});

test('a person whom the provider names signs in with the rights of their groups, and sees their own part', async () => {
  const { name, email } = newPerson({ email: 'Grace.Hopper@Example.com' });
  const visitor = createVisitor();
  const page = await signIn(visitor, name);
  expect([page.status, page.text.match(/url=([^"]+)"/)?.[1]]).toEqual([200, '/admin']);
  expect(page.headers.getSetCookie()).toContainEqual(
    expect.stringMatching(
      /^atrium_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/admin; Max-Age=3600$/,
    ),
  );
  expect(visitor.cookie(HOST, 'atrium_sign_on')).toBeUndefined();
  const { body } = await own(visitor);
  expect(email).not.toBe(body.user_email);
  expect(body).toMatchObject({
    workspace_id: WORKSPACE,
    user_email: 'grace.hopper@example.com',
    scopes: ['chat', 'documents:write'],
    sign_on_workspaces: [WORKSPACE],
  });
  const listed = await visitor.load(`${url}/admin/api/workspaces/${WORKSPACE}/keys`, { via: [HOST] });
  expect(listed.status).toBe(403);
});

test('sign-on and sign-out emit their events, and the audit log has each, with the person and the browser address', async () => {
  const { name, email } = newPerson({ groups: ['administrators'] });
  const visitor = createVisitor();
  await signIn(visitor, name);
  const out = await visitor.load(`${url}/admin/api/session`, { via: [HOST], method: 'DELETE' });
  expect([out.status, (await own(visitor)).status]).toEqual([204, 401]);
  const events = await eventually('the events', async () => {
    const stored = await sql<{ type: string; provider: string }[]>`
      SELECT type, data->>'provider' AS provider FROM usage_events WHERE subject = ${email} ORDER BY time, type`;
    const waiting = (await readOutbox(sql)).filter(({ subject }) => subject === email);
    return stored.length + waiting.length === 3 && waiting.length === 0 ? [...stored] : undefined;
  });
  expect(events.map(({ type, provider: way }) => `${type} ${way}`).sort()).toEqual([
    'auth.user.create oidc',
    'auth.user.login oidc',
    'auth.user.logout oidc',
  ]);
  const audit = await ask(`/admin/api/workspaces/${WORKSPACE}/audit?actor=${email}`);
  type Row = { action: string; via: string; address: string | null };
  expect(audit.body.items.map(({ action, via, address }: Row) => [action, via, address !== null])).toEqual([
    ['access.close-session', 'session', true],
    ['access.open-session', 'sign-on', true],
    ['access.create-key', 'sign-on', true],
    ['access.create-user', 'sign-on', true],
  ]);
});

test('the session is listed with its provider, and ends when it is revoked', async () => {
  const { name, email } = newPerson();
  const visitor = createVisitor();
  await signIn(visitor, name);
  const sessions = `/admin/api/workspaces/${WORKSPACE}/sessions`;
  const found = (await ask(sessions)).body.items.find(
    (each: { user_email: string }) => each.user_email === email,
  );
  expect(found).toMatchObject({ provider: 'oidc', key_name: 'Single sign-on', user_agent: 'visitor' });
  expect(Date.parse(found.expires_at) - Date.parse(found.created_at)).toBe(3_600_000);
  expect((await ask(`${sessions}/${found.id}`, 'DELETE')).status).toBe(204);
  await eventually('the end of the session', async () => (await own(visitor)).status === 401);
});

test('rights that are taken away at the provider end at the next sign-in, in every window', async () => {
  const { name } = newPerson({ groups: ['administrators', 'writers'] });
  const [first, second] = [createVisitor(), createVisitor()];
  await signIn(first, name);
  expect((await own(first)).body.scopes).toEqual(['admin', 'chat', 'documents:write']);
  provider.people.set(name, { ...provider.people.get(name), groups: ['writers'] });
  await signIn(second, name);
  await eventually('fewer rights', async () => (await own(first)).body.scopes?.length === 2);
  provider.people.set(name, { ...provider.people.get(name), groups: [] });
  expectProblem(await signIn(createVisitor(), name), 'no-access', 403);
  await eventually('the end of both', async () => {
    const [one, two] = await Promise.all([own(first), own(second)]);
    return one.status === 401 && two.status === 401;
  });
});

test('a person of several workspaces enters the first of the table, or the one that was asked for', async () => {
  await ask('/admin/api/workspaces', 'POST', { id: 'research' });
  const { name } = newPerson({ groups: ['writers'], realm_access: { roles: ['research'] } });
  const visitor = createVisitor();
  await signIn(visitor, name);
  expect((await own(visitor)).body).toMatchObject({
    workspace_id: WORKSPACE,
    sign_on_workspaces: [WORKSPACE, 'research'],
  });
  await signIn(visitor, name, '?workspace=research');
  expect((await own(visitor)).body).toMatchObject({ workspace_id: 'research', scopes: ['chat'] });
});

test('a person keeps their identity when the e-mail changes, and nobody inherits one with an address', async () => {
  const { name, email } = newPerson();
  const visitor = createVisitor();
  await signIn(visitor, name);
  const before = (await own(visitor)).body;
  provider.people.set(name, { ...provider.people.get(name), email: `new.${email}` });
  await signIn(visitor, name);
  expect((await own(visitor)).body).toMatchObject({ user_id: before.user_id, user_email: `new.${email}` });
  const other = newPerson({ email: `new.${email}` });
  expectProblem(await signIn(createVisitor(), other.name), 'other-person', 403);
});

test('a person whom an administrator has added is the one who signs in with that address', async () => {
  const { name, email } = newPerson();
  const added = await ask(`/admin/api/workspaces/${WORKSPACE}/users`, 'POST', { email });
  const visitor = createVisitor();
  await signIn(visitor, name);
  expect((await own(visitor)).body.user_id).toBe(added.body.id);
});

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
  const cookie = visitor.cookie(HOST, 'atrium_sign_on') ?? '';
  expectProblem(await callback(thief, address), 'expired', 400);
  await comeBack(thief, newPerson().name);
  expectProblem(await callback(thief, address), 'expired', 400);
  expect((await callback(visitor, address)).status).toBe(200);
  expectProblem(await callback(visitor, address), 'expired', 400);
  visitor.give(HOST, 'atrium_sign_on', cookie, '/admin/sign-on');
  expectProblem(await callback(visitor, address), 'expired', 400);
});

test('two windows of a browser may sign in at once', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  const first = await comeBack(visitor, name);
  const second = await comeBack(visitor, name);
  expect((await callback(visitor, first)).status).toBe(200);
  expect(second).not.toBe(first);
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
  expectProblem(await visitor.visit(`${form.url}/cancel`, { via: [PROVIDER_HOST] }), 'cancelled', 403);
});

test.each([
  ['server_error', 'unavailable', 503],
  ['temporarily_unavailable', 'unavailable', 503],
  ['unauthorized_client', 'refused', 502],
  ['<script>', 'refused', 502],
  ['constructor', 'refused', 502],
  ['__proto__', 'refused', 502],
] as const)('the error %s of the provider becomes a page', async (error, problem, status) => {
  const visitor = createVisitor();
  const address = new URL(await comeBack(visitor, newPerson().name));
  address.searchParams.delete('code');
  address.searchParams.set('error', error);
  address.searchParams.set('error_description', '<script>alert(1)</script>');
  const page = await callback(visitor, address.href);
  expectProblem(page, problem, status);
  expect(page.text).not.toContain('script');
});

type Forgery = [what: string, sign: Sign, reason: string | undefined];
const changed =
  (change: (claims: JWTPayload) => JWTPayload): Sign =>
  (claims) =>
    signWith(provider.signingKey as JWK, change(claims));
const OTHER_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const FORGERIES: Forgery[] = [
  ['another nonce', changed((claims) => ({ ...claims, nonce: 'another' })), 'nonce'],
  ['no nonce', changed(({ nonce: _nonce, ...claims }) => claims), 'nonce'],
  ['another issuer', changed((claims) => ({ ...claims, iss: 'https://other.example' })), 'iss'],
  ['another audience', changed((claims) => ({ ...claims, aud: 'other' })), 'aud'],
  ['a further audience', changed((claims) => ({ ...claims, aud: [CLIENT_ID, 'other'] })), 'aud'],
  ['an end in the past', changed((claims) => ({ ...claims, exp: (claims.iat ?? 0) - 600 })), 'exp'],
  ['the signature of another key', (claims) => signWith(OTHER_KEY as JWK, claims), 'signature'],
  ['another person than the UserInfo endpoint', changed((claims) => ({ ...claims, sub: 'other' })), 'sub'],
  ['nothing that is wrong', changed((claims) => claims), undefined],
];

test.each(FORGERIES)(
  'of the ID tokens of a fake only the right one is accepted: %s',
  async (_what, sign, reason) => {
    const visitor = createVisitor();
    const start = await visitor.load(`${url}/admin/sign-on`);
    const asked = new URL(start.headers.get('location') ?? '').searchParams;
    const token = await sign(rightClaims(asked.get('nonce') ?? ''));
    const answer = new URLSearchParams({
      code: 'any',
      state: asked.get('state') ?? '',
      iss: provider.issuer,
    });
    await withFake(answerWith(token), async () => {
      const page = await callback(visitor, `${url}/admin/sign-on/callback?${answer}`);
      if (reason === undefined) return expect(page.status).toBe(200);
      expectProblem(page, 'untrusted', 502);
      await eventually('the reason in the log', () => lastReason().includes(reason));
    });
  },
);

test.each([
  ['answers 503', 503, 'text/plain', 'down', 'unavailable', 503],
  ['refuses the secret', 401, 'application/json', '{"error":"invalid_client"}', 'refused', 502],
  ['answers nonsense', 200, 'text/html', '<p>Hello', 'untrusted', 502],
  ['answers no token', 200, 'application/json', '{}', 'untrusted', 502],
] as const)(
  'a provider that %s for the code (a fake) gives a page',
  async (_what, code, type, text, problem, status) => {
    const visitor = createVisitor();
    const address = await comeBack(visitor, newPerson().name);
    const fail: Fake = (request, response) => {
      if (!request.url?.startsWith('/token')) return false;
      response.writeHead(code, { 'content-type': type }).end(text);
      return true;
    };
    await withFake(fail, async () => expectProblem(await callback(visitor, address), problem, status));
  },
);

test('a provider that does not answer in time (a fake) gives a page, and the sign-in after it succeeds', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  const address = await comeBack(visitor, name);
  await withFake(
    (request) => request.url?.startsWith('/token') === true,
    async () => expectProblem(await callback(visitor, address), 'unavailable', 503),
  );
  expect((await signIn(visitor, name)).status).toBe(200);
});

test('signing out leads to the page of the provider that ends its session, and back', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  await signIn(visitor, name);
  await visitor.load(`${url}/admin/api/session`, { via: [HOST], method: 'DELETE' });
  const page = await visitor.visit(`${url}/admin/sign-on/end`, { via: [HOST] });
  expect(page.url).toStartWith(provider.issuer);
  const secret = page.text.match(/name="xsrf" value="(\w+)"/)?.[1] ?? '';
  const back = await visitor.visit(page.text.match(/action="([^"]+)"/)?.[1] ?? '', {
    via: [PROVIDER_HOST],
    form: { xsrf: secret, logout: 'yes' },
  });
  expect([back.url.split('?')[0], back.status]).toEqual([`${url}/admin/sign-in`, 200]);
  // The provider asks again.
  expect((await visitor.visit(`${url}/admin/sign-on`)).text).toContain('name="login"');
});

test('a page of another site cannot sign people out at the provider', async () => {
  const visitor = createVisitor();
  await signIn(visitor, newPerson().name);
  expect((await visitor.load(`${url}/admin/sign-on/end`, { via: ['evil.example'] })).status).toBe(403);
});

test('a sign-in as somebody else makes the provider ask again, which otherwise knows the person', async () => {
  const visitor = createVisitor();
  await signIn(visitor, newPerson({ groups: [] }).name);
  const until = /\/admin\/sign-on\/callback/;
  expect((await visitor.visit(`${url}/admin/sign-on`, { until })).url).toMatch(until);
  expect((await visitor.visit(`${url}/admin/sign-on?prompt=login`, { until })).text).toContain(
    'name="login"',
  );
});

test('neither the log nor the audit log has a code, a state, a cookie or the secret', async () => {
  const { name } = newPerson({ groups: [] });
  const visitor = createVisitor();
  const address = new URL(await comeBack(visitor, name));
  const cookie = visitor.cookie(HOST, 'atrium_sign_on') ?? '';
  await callback(visitor, address.href);
  await eventually('the line of the refusal', () => service.child.output().includes('no-access'));
  const told = `${service.child.output()}${JSON.stringify(await ask('/admin/api/audit'))}`;
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

test('two first sign-ins of a person at once make one person with one key', async () => {
  const { name, email } = newPerson();
  const visitors = [createVisitor(), createVisitor()];
  const addresses = await Promise.all(visitors.map((visitor) => comeBack(visitor, name)));
  const pages = await Promise.all(visitors.map((visitor, at) => callback(visitor, addresses[at] ?? '')));
  expect(pages.map(({ status }) => status)).toEqual([200, 200]);
  const rows = await sql`SELECT keys.id FROM users JOIN keys ON user_id = users.id WHERE email = ${email}`;
  expect(rows).toHaveLength(1);
});

test('a service starts while its provider is down, and people sign in once it is there; a proxy ends TLS', async () => {
  await using late = await startProvider();
  const environment = {
    ...SETTINGS,
    DATABASE_URL: database.url,
    OIDC_ISSUER: late.issuer,
    PUBLIC_URL: 'https://portal.example',
  };
  await using other = await startService({ environment });
  const visitor = createVisitor();
  const begin = () => visitor.load(`${other.url}/admin/sign-on`);
  const during = async (answer: Fake, problem: string, status: number): Promise<void> => {
    late.fake.answer = answer;
    expectProblem(await begin(), problem, status);
  };
  await during((request) => request.socket.destroy() !== undefined, 'unavailable', 503);
  await during((_request, response) => response.writeHead(503).end() !== undefined, 'unavailable', 503);
  await during(() => true, 'unavailable', 503);
  const document = { issuer: 'https://other.example', authorization_endpoint: 'https://other.example/auth' };
  const lie: Fake = (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document)) !==
    undefined;
  await during(lie, 'untrusted', 502);
  expectProblem(await visitor.load(`${other.url}/admin/sign-on/end`), 'still-signed-in', 503);
  late.fake.answer = undefined;
  late.register('https://portal.example');
  const target = new URL((await begin()).headers.get('location') ?? '');
  expect(target.searchParams.get('redirect_uri')).toBe('https://portal.example/admin/sign-on/callback');
  // What was discovered once outlives the provider.
  late.fake.answer = (request) => request.socket.destroy() !== undefined;
  const headers = { 'x-forwarded-proto': 'https', host: 'portal.example' };
  const answer = await fetch(`${other.url}/admin/sign-on`, { headers, redirect: 'manual' });
  expect([answer.status, answer.headers.get('set-cookie')?.endsWith('; Secure')]).toEqual([303, true]);
  expect((await visitor.load(`${other.url}/admin/sign-in`)).text).toContain(
    'data-url="https://portal.example/admin/sign-on"',
  );
});

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

test('without the settings there is no single sign-on', async () => {
  await using other = await startService();
  for (const path of ['', '/callback?code=a&state=b', '/end'])
    expect((await createVisitor().load(`${other.url}/admin/sign-on${path}`)).status).toBe(404);
  expect((await createVisitor().load(`${other.url}/admin/sign-in`)).text).not.toContain('atrium-sign-on');
});
