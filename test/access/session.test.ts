import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { readOutbox } from '../support/outbox.ts';
import { shared } from '../support/shared.ts';
import { OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const SESSION = '/admin/api/session';
const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;
const administration = await shared(startAdministration());

type Where = { origin?: string; headers?: Record<string, string> };

const signIn = (key: string, where: Where = {}) =>
  administration.ask('POST', SESSION, { body: { key }, ...where });

/** Signs in and returns the Cookie header that a browser would send. */
async function openSession(key = OPERATOR_KEY): Promise<string> {
  const answer = await signIn(key);
  expect(answer.status).toBe(204);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

const list = (cookie: string) => administration.ask('GET', KEYS, { headers: { cookie } });

test('signing in sets a cookie that scripts, other sites and other paths never see', async () => {
  const answer = await signIn(OPERATOR_KEY);
  expect(answer.status).toBe(204);
  expect(answer.headers.get('set-cookie')).toMatch(
    /^atrium_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/admin; Max-Age=43200$/,
  );
});

test('over https the cookie belongs to this very host', async () => {
  const answer = await signIn(OPERATOR_KEY, { origin: 'https://localhost' });
  expect(answer.headers.get('set-cookie')).toMatch(
    /^__Host-atrium_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/,
  );
});

test('a bad key is 401 and gets no cookie; the session of a key without administrative scopes administers nothing', async () => {
  const powerless = await administration.makeKey(['chat', 'metrics']);
  const bad = await signIn('nobody-has-this-key-0123456789-abcdef');
  expect([bad.status, bad.headers.get('set-cookie')]).toEqual([401, null]);
  const cookie = await openSession(powerless.key);
  expect((await list(cookie)).status).toBe(403);
  const own = await administration.ask('GET', SESSION, { headers: { cookie } });
  expect(JSON.parse(own.text)).toMatchObject({ key_id: powerless.id, scopes: ['chat', 'metrics'] });
  expect((await administration.ask('POST', SESSION, { body: {} })).status).toBe(422);
});

/** The database takes no event while `work` runs. */
async function withoutOutbox(work: () => Promise<void>): Promise<void> {
  const { sql } = administration;
  await sql`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`;
  await sql`CREATE TRIGGER refuse BEFORE INSERT ON usage_outbox FOR EACH ROW EXECUTE FUNCTION refuse()`;
  try {
    await work();
  } finally {
    await sql`DROP FUNCTION refuse CASCADE`;
  }
}

test('sign-ins and people change together with their event, or not at all', async () => {
  const { sql } = administration;
  const users = `/admin/api/workspaces/${WORKSPACE}/users`;
  const before = (await readOutbox(sql)).length;
  const cookie = await openSession();
  const headers = { cookie, origin: 'http://localhost' };
  const ask = (method: string, path: string, body?: object) =>
    administration.ask(method, path, { headers, ...(body === undefined ? {} : { body }) });
  const ada = (await ask('POST', users, { email: 'Ada@example.com' })).body;
  const state = async () => ({
    sessions: (await sql`SELECT FROM portal_sessions`).length,
    people: [...(await sql`SELECT id, email, name FROM users ORDER BY id`)],
    keys: (await sql`SELECT FROM keys WHERE revoked_at IS NULL`).length,
    events: (await readOutbox(sql)).length,
  });
  const kept = await state();
  const newKey = { name: 'k', scopes: ['chat'], user_email: 'grace@example.com' };
  await withoutOutbox(async () => {
    const refused = await Promise.all([
      signIn(OPERATOR_KEY),
      ask('DELETE', SESSION),
      ask('POST', users, { email: 'later@example.com' }),
      ask('PATCH', `${users}/${ada.id}`, { name: 'Ada' }),
      ask('DELETE', `${users}/${ada.id}`),
      ask('POST', KEYS, newKey),
    ]);
    for (const { status, headers: sent } of refused)
      expect([status >= 500, sent.get('set-cookie')]).toEqual([true, null]);
    expect(await state()).toEqual(kept);
  });
  expect((await ask('POST', users, { email: 'ADA@example.com' })).status).toBe(409);
  expect((await ask('PATCH', `${users}/${ada.id}`, { email: 'ada.l@example.com' })).status).toBe(200);
  expect((await ask('DELETE', `${users}/${ada.id}`)).status).toBe(204);
  expect((await ask('DELETE', `${users}/${ada.id}`)).status).toBe(404);
  expect((await ask('POST', KEYS, newKey)).status).toBe(201);
  expect((await ask('POST', KEYS, newKey)).status).toBe(201);
  expect((await ask('DELETE', SESSION)).status).toBe(204);
  expect((await ask('DELETE', SESSION)).status).not.toBe(500);
  const told = (await readOutbox(sql)).slice(before);
  expect(told.map(({ type, subject, data }) => [type, subject, data['provider']])).toEqual([
    ['auth.user.login', `admin@${WORKSPACE}.localhost`, 'key'],
    ['auth.user.create', 'ada@example.com', 'admin'],
    ['auth.user.update', 'ada.l@example.com', 'admin'],
    ['auth.user.delete', 'ada.l@example.com', 'admin'],
    ['auth.user.create', 'grace@example.com', 'admin'],
    ['auth.user.logout', `admin@${WORKSPACE}.localhost`, 'key'],
  ]);
  for (const { workspaceId, data } of told) expect([workspaceId, data.value]).toEqual([WORKSPACE, 1]);
});

test('a session is worth what its key is worth', async () => {
  const admin = await administration.makeKey(['admin'], { user_email: 'portal@example.com' });
  const cookie = await openSession(admin.key);
  expect((await list(cookie)).status).toBe(200);
  const headers = { cookie: `theme=dark; ${cookie}; lang=de`, origin: 'http://localhost' };
  const made = await administration.ask('POST', KEYS, { headers, body: { name: 'k', scopes: ['chat'] } });
  expect(made.status).toBe(201);
  expect(made.body.user_email).toBe('portal@example.com');
  const beyond = await administration.ask('POST', '/admin/api/workspaces', { headers, body: { id: 'w-x' } });
  expect(beyond.status).toBe(403);
});

test.each(['https://evil.example', 'http://localhost:8080', 'null', 'http://localhost.evil.example'])(
  'a change that a page of %s sends with the cookie is 403',
  async (origin) => {
    const headers = { cookie: await openSession(), origin };
    const body = { name: 'k', scopes: ['chat'] };
    expect((await administration.ask('POST', KEYS, { headers, body })).status).toBe(403);
    expect((await administration.ask('DELETE', SESSION, { headers })).status).toBe(403);
    expect((await administration.ask('GET', KEYS, { headers })).status).toBe(200);
  },
);

test.each(['cross-site', 'same-site'])(
  'what the browser says a %s page has caused is 403, also where it only reads',
  async (site) => {
    const headers = { cookie: await openSession(), 'sec-fetch-site': site };
    const body = { name: 'k', scopes: ['chat'] };
    expect((await administration.ask('GET', KEYS, { headers })).status).toBe(403);
    expect((await administration.ask('POST', KEYS, { headers, body })).status).toBe(403);
    for (const own of ['same-origin', 'none'])
      expect(
        (await administration.ask('GET', KEYS, { headers: { ...headers, 'sec-fetch-site': own } })).status,
      ).toBe(200);
  },
);

test.each([
  { origin: 'https://evil.example' },
  { origin: 'http://localhost:8080' },
  { 'sec-fetch-site': 'same-site', origin: 'http://localhost:9000' },
  { 'sec-fetch-site': 'cross-site' },
])('a page of another origin signs no one in: %j', async (headers: Record<string, string>) => {
  const calls = [
    signIn(OPERATOR_KEY, { headers }),
    administration.ask('POST', `${SESSION}/link`, { body: { link: 'A'.repeat(43) }, headers }),
  ];
  for (const { status, headers: sent } of await Promise.all(calls))
    expect([status, sent.get('set-cookie')]).toEqual([403, null]);
});

test('the page is compared with the Host that the request names', async () => {
  const headers = { cookie: await openSession(), origin: 'https://atrium.example', host: 'Atrium.example' };
  const body = { name: 'k', scopes: ['chat'] };
  expect((await administration.ask('POST', KEYS, { headers, body })).status).toBe(201);
});

test('signing out ends the session in every process and clears the cookie', async () => {
  const other = await administration.start();
  const cookie = await openSession();
  const elsewhere = new Request(`http://localhost${KEYS}`, { headers: { cookie } });
  expect(await other.access.authenticators.session(elsewhere)).toBeDefined();
  const answer = await administration.ask('DELETE', SESSION, { headers: { cookie } });
  expect(answer.status).toBe(204);
  expect(answer.headers.get('set-cookie')).toBe(
    'atrium_session=; HttpOnly; SameSite=Strict; Path=/admin; Max-Age=0',
  );
  expect((await list(cookie)).status).toBe(401);
  await eventually(
    'the other process to refuse the session',
    async () => (await other.access.authenticators.session(elsewhere)) === undefined,
    15_000,
  );
});

test('signing out works without a session', async () => {
  for (const headers of [
    {},
    { cookie: 'atrium_session=nonsense' },
    { cookie: `atrium_session=${'A'.repeat(43)}` },
  ])
    expect((await administration.ask('DELETE', SESSION, { headers })).status).toBe(204);
});

test('a session ends with its key: revoked, disabled or expired', async () => {
  const { ask, makeKey, first } = administration;
  const soon = new Date(first.clock.now().getTime() + 60_000).toISOString();
  const [revoked, disabled, expiring] = [
    await makeKey(['admin']),
    await makeKey(['admin']),
    await makeKey(['admin'], { expires_at: soon }),
  ];
  const cookies = await Promise.all([revoked, disabled, expiring].map(({ key }) => openSession(key)));
  for (const cookie of cookies) expect((await list(cookie)).status).toBe(200);
  await ask('DELETE', `${KEYS}/${revoked.id}`, { key: OPERATOR_KEY });
  await ask('PATCH', `${KEYS}/${disabled.id}`, { key: OPERATOR_KEY, body: { disabled: true } });
  first.clock.advance(60_001);
  for (const cookie of cookies) expect((await list(cookie)).status).toBe(401);
});

test('a session ends after twelve hours, and what is over is removed', async () => {
  const { first, sql } = administration;
  const key = await administration.makeKey(['admin']);
  const cookie = await openSession(key.key);
  const count = async (): Promise<number | undefined> =>
    (await sql<{ count: number }[]>`SELECT count(*)::int FROM portal_sessions WHERE key_id = ${key.id}`)[0]
      ?.count;
  first.clock.advance(12 * 3_600_000 - 1000);
  expect((await list(cookie)).status).toBe(200);
  await first.lifecycle.settle();
  expect(await count()).toBe(1);
  first.clock.advance(1001);
  expect((await list(cookie)).status).toBe(401);
  await first.lifecycle.settle();
  expect(await count()).toBe(0);
});

test('neither the cookie nor the key is kept as it is', async () => {
  const cookie = await openSession();
  const value = cookie.split('=')[1] ?? '';
  const rows = await administration.sql`SELECT row_to_json(portal_sessions) AS row FROM portal_sessions`;
  expect(JSON.stringify(rows)).not.toContain(value);
  expect(JSON.stringify(rows)).toContain(new Bun.CryptoHasher('sha256').update(value).digest('hex'));
});

test('any key, and any sign-in, may ask for whom it speaks', async () => {
  const powerless = await administration.makeKey(['chat'], { user_email: 'widget@example.com' });
  const asked = await administration.ask('GET', SESSION, { key: powerless.key });
  expect(JSON.parse(asked.text)).toEqual({
    workspace_id: WORKSPACE,
    user_email: 'widget@example.com',
    scopes: ['chat'],
    user_id: expect.any(String),
    key_id: powerless.id,
    sign_on_workspaces: null,
  });
  const cookie = await openSession();
  const signedIn = await administration.ask('GET', SESSION, { headers: { cookie } });
  expect(JSON.parse(signedIn.text)).toMatchObject({ workspace_id: WORKSPACE });
  expect((await administration.ask('GET', SESSION, { key: 'nobody-has-this-key' })).status).toBe(401);
  expect((await administration.ask('GET', SESSION, { headers: { cookie: '' } })).status).toBe(401);
});

const SESSIONS = `/admin/api/workspaces/${WORKSPACE}/sessions`;
type OpenSession = {
  id: string;
  key_name: string;
  provider: string;
  current: boolean;
  user_agent: string | null;
};
const openSessions = async (headers: Record<string, string>): Promise<OpenSession[]> =>
  JSON.parse((await administration.ask('GET', SESSIONS, { headers })).text).items;

test('open sessions are listed, and a revoked one ends in every process', async () => {
  const other = await administration.start();
  const key = await administration.makeKey(['admin'], {
    name: 'lost laptop',
    user_email: 'lost@example.com',
  });
  const answer = await signIn(key.key, { headers: { 'user-agent': 'Browser/1.0' } });
  const lost = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const cookie = await openSession();
  const found = (await openSessions({ cookie })).find(({ key_name }) => key_name === 'lost laptop');
  expect(found).toMatchObject({
    provider: 'key',
    current: false,
    user_agent: 'Browser/1.0',
    user_email: 'lost@example.com',
  });
  expect((await openSessions({ cookie: lost })).filter(({ current }) => current).map(({ id }) => id)).toEqual(
    [found?.id ?? ''],
  );
  const elsewhere = new Request(`http://localhost${KEYS}`, { headers: { cookie: lost } });
  expect(await other.access.authenticators.session(elsewhere)).toBeDefined();
  const headers = { cookie, origin: 'http://localhost' };
  expect((await administration.ask('DELETE', `${SESSIONS}/${found?.id}`, { headers })).status).toBe(204);
  expect((await administration.ask('DELETE', `${SESSIONS}/${found?.id}`, { headers })).status).toBe(404);
  expect((await list(lost)).status).toBe(401);
  await eventually(
    'the other process to refuse the session',
    async () => (await other.access.authenticators.session(elsewhere)) === undefined,
    15_000,
  );
});

test("an administrator does not end an operator's session, and sees no other workspace's", async () => {
  const admin = await administration.makeKey(['admin'], { user_email: 'small@example.com' });
  const headers = { cookie: await openSession(admin.key), origin: 'http://localhost' };
  await openSession();
  const operators = (await openSessions(headers)).find(({ key_name }) => key_name === 'bootstrap');
  expect((await administration.ask('DELETE', `${SESSIONS}/${operators?.id}`, { headers })).status).toBe(403);
  const foreign = await administration.ask('GET', '/admin/api/workspaces/other/sessions', { headers });
  expect(foreign.status).toBe(403);
});

test('a one-time link signs in once, within its time', async () => {
  const instance = administration.first;
  const made = await instance.access.bootstrap({ workspace: 'with-link' });
  const again = await instance.access.bootstrap({ workspace: 'with-link' });
  const late = await instance.access.bootstrap({ workspace: 'too-late' });
  expect([typeof made.link, again.link]).toEqual(['string', undefined]);
  const open = (link: unknown) => administration.ask('POST', `${SESSION}/link`, { body: { link } });
  const [first, second] = await Promise.all([open(made.link), open(made.link)]);
  expect([first.status, second.status].sort()).toEqual([204, 401]);
  const cookie =
    [first, second].map(({ headers }) => headers.get('set-cookie')?.split(';')[0]).find(Boolean) ?? '';
  const signedIn = await administration.ask('GET', SESSION, { headers: { cookie } });
  expect(JSON.parse(signedIn.text)).toMatchObject({ workspace_id: 'with-link' });
  const login = (await readOutbox(administration.sql)).filter(
    ({ workspaceId }) => workspaceId === 'with-link',
  );
  expect(login.map(({ type, data }) => [type, data['provider']])).toEqual([['auth.user.login', 'link']]);
  instance.clock.advance(900_001);
  expect((await open(late.link)).status).toBe(401);
  expect((await open('')).status).toBe(401);
});

test('a link is kept as its hash alone', async () => {
  const { link } = await administration.first.access.bootstrap({ workspace: 'hashed-link' });
  const rows = await administration.sql`SELECT row_to_json(portal_links) AS row FROM portal_links`;
  expect(JSON.stringify(rows)).not.toContain(link ?? 'no link');
  expect(JSON.stringify(rows)).toContain(new Bun.CryptoHasher('sha256').update(link ?? '').digest('hex'));
});
