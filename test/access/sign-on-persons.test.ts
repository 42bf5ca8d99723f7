// Whom a sign-in at the provider may become: nobody by an address that is not verified, nor by one that only looks like another, and no
// administrator. What a provider answers is bounded, and so is what the key of a sign-in may spend.

import { expect, test } from 'bun:test';
import type { Fake } from '../support/oidc/provider.ts';
import { createVisitor } from '../support/oidc/visitor.ts';
import { startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { expectProblem, startSignOn } from './sign-on-setting.ts';

const { provider, settings, url, host, newPerson, comeBack, callback, signIn, own, ask, withFake } =
  await shared(startSignOn());

const USERS = `/admin/api/workspaces/${WORKSPACE}/users`;
const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;
const addUser = async (email: string): Promise<string> => (await ask(USERS, 'POST', { email })).body.id;
let addresses = 0;
const newAddress = (): string => `victim-${++addresses}@example.com`;

const UNVERIFIED: unknown[] = [undefined, null, 0, 1, 'False', 'no', 'TRUE', '', [], ['true'], {}];

test.each(UNVERIFIED.map((verified) => ({ verified })))(
  'an address with email_verified %j makes nobody, and nobody who is there',
  async ({ verified }) => {
    const email = newAddress();
    await addUser(email);
    const users = async (): Promise<number> => (await ask(`${USERS}?limit=100`)).body.items.length;
    const before = await users();
    for (const address of [email, newAddress()]) {
      const { name } = newPerson({ email: address, email_verified: verified });
      expectProblem(await signIn(createVisitor(), name), 'no-email', 403);
    }
    expect(await users()).toBe(before);
  },
);

test('a person whose address is no longer verified enters as nobody', async () => {
  const { name } = newPerson();
  await signIn(createVisitor(), name);
  provider.people.set(name, { ...provider.people.get(name), email: newAddress(), email_verified: 0 });
  expectProblem(await signIn(createVisitor(), name), 'no-email', 403);
});

test('email_verified may be the text true', async () => {
  const email = newAddress();
  const id = await addUser(email);
  const visitor = createVisitor();
  await signIn(visitor, newPerson({ email, email_verified: 'true' }).name);
  expect((await own(visitor)).body.user_id).toBe(id);
});

test('the statement of the UserInfo endpoint about another address says nothing about that of the ID token', async () => {
  const [email, mine] = [newAddress(), newAddress()];
  const { name } = newPerson({ email: mine });
  const visitor = createVisitor();
  const address = await comeBack(visitor, name);
  provider.people.set(name, { ...provider.people.get(name), email });
  const lie: Fake = (request, response) => {
    if (request.url !== '/me') return false;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ sub: name, email, email_verified: false, groups: ['writers'] }));
    return true;
  };
  await withFake(lie, async () => expectProblem(await callback(visitor, address), 'no-email', 403));
});

test.each([
  ['a Kelvin sign', (email: string) => email.replace('k', '\u212a')],
  ['fullwidth letters', (email: string) => email.replace('k', '\uff4b')],
  ['a decomposed letter', (email: string) => email.replace('k', 'e\u0301')],
])('an address with %s is refused, at the provider and by the administration', async (_what, change) => {
  const email = `kate-${++addresses}@example.com`;
  const id = await addUser(email);
  const other = change(email);
  expectProblem(await signIn(createVisitor(), newPerson({ email: other }).name), 'no-email', 403);
  expect((await ask(USERS, 'POST', { email: other })).status).toBe(422);
  expect((await ask(`${USERS}/${id}`, 'PATCH', { email: other })).status).toBe(422);
  expect((await ask(KEYS, 'POST', { name: 'k', scopes: ['chat'], user_email: other })).status).toBe(422);
});

test('only ASCII letters have no case: İ and Ä of an address stay', async () => {
  const email = `\u00c4DA-${++addresses}@Example.com`;
  const made = await ask(USERS, 'POST', { email });
  expect(made.body.email).toBe(`\u00c4da-${addresses}@example.com`);
});

test.each(['admin', 'operator'])(
  'a sign-in does not become the person of a key with the scope %s, disabled or not, until an operator has revoked it',
  async (scope) => {
    const email = newAddress();
    const key = (await ask(KEYS, 'POST', { name: 'k', scopes: [scope, 'chat'], user_email: email })).body;
    const { name } = newPerson({ email });
    expectProblem(await signIn(createVisitor(), name), 'other-person', 403);
    await ask(`${KEYS}/${key.id}`, 'PATCH', { disabled: true });
    expectProblem(await signIn(createVisitor(), name), 'other-person', 403);
    await ask(`${KEYS}/${key.id}`, 'DELETE');
    expect((await signIn(createVisitor(), name)).status).toBe(200);
  },
);

test.each(['admin', 'operator'])(
  'a sign-in with another address does not rename the person of a key with the scope %s',
  async (scope) => {
    const { name, email } = newPerson();
    const visitor = createVisitor();
    await signIn(visitor, name);
    await ask(KEYS, 'POST', { name: 'k', scopes: [scope], user_email: email });
    provider.people.set(name, { ...provider.people.get(name), email: newAddress() });
    expect((await signIn(visitor, name)).status).toBe(200);
    expect((await own(visitor)).body.user_email).toBe(email);
  },
);

test('a provider that verifies addresses without saying so is believed by OIDC_EMAIL_TRUSTED, but not against its word', async () => {
  const environment = { ...settings, OIDC_EMAIL_TRUSTED: 'true', PUBLIC_URL: url };
  await using other = await startService({ environment });
  const enter = async (claims: Record<string, unknown>) => {
    const visitor = createVisitor();
    const { name } = newPerson(claims);
    // Both services derive a sign-in from the same cookie.
    const address = await comeBack(visitor, name);
    return callback(visitor, address.replace(url, other.url));
  };
  const email = newAddress();
  await addUser(email);
  expect((await enter({ email, email_verified: undefined })).status).toBe(200);
  expectProblem(await enter({ email_verified: false }), 'no-email', 403);
});

test('an answer of the provider that has no end is not read', async () => {
  const visitor = createVisitor();
  const address = await comeBack(visitor, newPerson().name);
  const CHUNK = Buffer.alloc(262_144, 'a');
  let sent = 0;
  const flood: Fake = (request, response) => {
    if (request.url?.startsWith('/token') !== true) return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"access_token":"');
    const send = (): void => {
      if (response.destroyed || sent > 300_000_000) return;
      sent += CHUNK.length;
      response.write(CHUNK, send);
    };
    send();
    return true;
  };
  await withFake(flood, async () => expectProblem(await callback(visitor, address), 'untrusted', 502));
  expect(sent).toBeLessThan(100_000_000);
});

test('the key of a sign-in has limits: those of its row, else the usual ones', async () => {
  const visitor = createVisitor();
  const { name } = newPerson({ groups: ['writers'] });
  const limits = async () => {
    const id = (await own(visitor)).body.key_id;
    const { items } = (await ask(`${KEYS}?limit=100`)).body;
    return items.find((each: { id: string }) => each.id === id)?.limits;
  };
  await signIn(visitor, name);
  expect(await limits()).toEqual({ requests_per_minute: 120, tokens_per_minute: 500_000 });
  provider.people.set(name, { ...provider.people.get(name), groups: ['limited'] });
  await signIn(visitor, name);
  expect(await limits()).toEqual({ requests_per_minute: 5, budget_per_month: 2.5 });
  expect(visitor.cookie(host, 'atrium_session')).toBeDefined();
});

test('a person who signs in too often is told so, and not that the provider is silent', async () => {
  const { name } = newPerson();
  for (let sent = 0; sent < 200; sent++) {
    const page = await signIn(createVisitor(), name);
    if (page.status === 200) continue;
    expectProblem(page, 'too-many', 429);
    expect(sent).toBeGreaterThan(100);
    return;
  }
  throw new Error('no sign-in was refused');
});
