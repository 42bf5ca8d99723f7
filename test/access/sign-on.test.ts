// Single sign-on at a real provider, as a browser meets it: the ways that lead into the portal, and out.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { CLIENT_ID } from '../support/oidc/provider.ts';
import { createVisitor } from '../support/oidc/visitor.ts';
import { readOutbox } from '../support/outbox.ts';
import { startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { expectProblem, startSignOn } from './sign-on-setting.ts';

const { provider, url, sql, host, providerHost, newPerson, comeBack, callback, signIn, own, ask } =
  await shared(startSignOn());

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
  expect(visitor.cookie(host, 'atrium_sign_on')).toBeUndefined();
  const { body } = await own(visitor);
  expect(email).not.toBe(body.user_email);
  expect(body).toMatchObject({
    workspace_id: WORKSPACE,
    user_email: 'grace.hopper@example.com',
    scopes: ['chat', 'documents:write'],
    sign_on_workspaces: [WORKSPACE],
  });
  const listed = await visitor.load(`${url}/admin/api/workspaces/${WORKSPACE}/keys`, { via: [host] });
  expect(listed.status).toBe(403);
});

test('sign-on and sign-out emit their events, and the audit log has each, with the person and the browser address', async () => {
  const { name, email } = newPerson({ groups: ['administrators'] });
  const visitor = createVisitor();
  await signIn(visitor, name);
  const out = await visitor.load(`${url}/admin/api/session`, { via: [host], method: 'DELETE' });
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

test('two windows of a browser may sign in at once', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  const first = await comeBack(visitor, name);
  const second = await comeBack(visitor, name);
  expect((await callback(visitor, first)).status).toBe(200);
  expect(second).not.toBe(first);
});

test('signing out leads to the page of the provider that ends its session, and back', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  await signIn(visitor, name);
  await visitor.load(`${url}/admin/api/session`, { via: [host], method: 'DELETE' });
  const page = await visitor.visit(`${url}/admin/sign-on/end`, { via: [host] });
  expect(page.url).toStartWith(provider.issuer);
  const secret = page.text.match(/name="xsrf" value="(\w+)"/)?.[1] ?? '';
  const back = await visitor.visit(page.text.match(/action="([^"]+)"/)?.[1] ?? '', {
    via: [providerHost],
    form: { xsrf: secret, logout: 'yes' },
  });
  expect([back.url.split('?')[0], back.status]).toEqual([`${url}/admin/sign-in`, 200]);
  // The provider asks again.
  expect((await visitor.visit(`${url}/admin/sign-on`)).text).toContain('name="login"');
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

test('two first sign-ins of a person at once make one person with one key', async () => {
  const { name, email } = newPerson();
  const visitors = [createVisitor(), createVisitor()];
  const addresses = await Promise.all(visitors.map((visitor) => comeBack(visitor, name)));
  const pages = await Promise.all(visitors.map((visitor, at) => callback(visitor, addresses[at] ?? '')));
  expect(pages.map(({ status }) => status)).toEqual([200, 200]);
  const rows = await sql`SELECT keys.id FROM users JOIN keys ON user_id = users.id WHERE email = ${email}`;
  expect(rows).toHaveLength(1);
});

test('without the settings there is no single sign-on', async () => {
  await using other = await startService();
  for (const path of ['', '/callback?code=a&state=b', '/end'])
    expect((await createVisitor().load(`${other.url}/admin/sign-on${path}`)).status).toBe(404);
  expect((await createVisitor().load(`${other.url}/admin/sign-in`)).text).not.toContain('atrium-sign-on');
});
