// What a request says about its client: a proxy is believed where the operator has named it, and no cookie beside the portal's own.

import { expect, test } from 'bun:test';
import { ClientFinder, PROXIES } from '../../src/http/client.ts';
import { eventually } from '../support/child.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const SESSION = '/admin/api/session';
const behindProxy = await shared(startService({ environment: { TRUSTED_PROXIES: '10.9.8.0/24,127.0.0.1' } }));
const alone = await shared(startService());

const FORWARDED = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https' };

const signIn = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}${SESSION}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ key: BOOTSTRAP_KEY }),
  });
const own = (url: string, cookie: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${url}${SESSION}`, { method, headers: { cookie, ...headers } });
const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? '';

test('of a proxy that is not named neither address nor scheme is believed', async () => {
  const answer = await signIn(alone.url, FORWARDED);
  expect(answer.headers.get('set-cookie')).toStartWith('atrium_session=');
  expect(answer.headers.get('set-cookie')).not.toContain('Secure');
  const id = answer.headers.get('x-request-id') ?? 'none';
  const line = await eventually('the line of the log', () =>
    alone.child
      .output()
      .split('\n')
      .find((each) => each.includes(id) && each.includes('"msg":"request"')),
  );
  expect(JSON.parse(line).client).toBe('127.0.0.1');
});

test('audit log, log line and cookie go by what a named proxy says', async () => {
  const { url, child } = behindProxy;
  const answer = await signIn(url, FORWARDED);
  expect(answer.headers.get('set-cookie')).toMatch(
    /^__Host-atrium_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/,
  );
  expect((await own(url, cookieOf(answer), FORWARDED)).status).toBe(200);
  const id = answer.headers.get('x-request-id') ?? 'none';
  const line = await eventually('the line of the log', () =>
    child
      .output()
      .split('\n')
      .find((each) => each.includes(id) && each.includes('"msg":"request"')),
  );
  expect(JSON.parse(line).client).toBe('203.0.113.7');
  const audit = await fetch(`${url}/admin/api/workspaces/${WORKSPACE}/audit?action=access.open-session`, {
    headers: { APIKeyHeader: BOOTSTRAP_KEY },
  });
  expect((await audit.json()).items[0]).toMatchObject({ request_id: id, address: '203.0.113.7' });
});

test('a request with two cookies of the name speaks for nobody, and loses both', async () => {
  const [one, two] = [cookieOf(await signIn(alone.url)), cookieOf(await signIn(alone.url))];
  for (const cookie of [`${one}; ${two}`, `${one}; a=b; atrium_session=x`, `atrium_session=; ${one}`])
    for (const method of ['GET', 'DELETE']) {
      const answer = await own(alone.url, cookie, {}, method);
      expect(answer.status).toBe(401);
      const removed = answer.headers.getSetCookie();
      for (const path of ['/', '/admin', '/admin/', '/admin/api', '/admin/api/session'])
        expect(removed).toContain(`atrium_session=; HttpOnly; SameSite=Strict; Path=${path}; Max-Age=0`);
    }
  const answer = await signIn(alone.url, { cookie: `${one}; ${two}` });
  expect([answer.status, answer.headers.getSetCookie().every((each) => each.includes('Max-Age=0'))]).toEqual([
    401,
    true,
  ]);
  expect((await own(alone.url, one)).status).toBe(200);
});

test('a cookie that a parent domain has set is removed there, too', async () => {
  const answer = await own(alone.url, 'atrium_session=a; atrium_session=b', { host: 'a.b.example:80' });
  expect(answer.headers.getSetCookie()).toContain(
    'atrium_session=; HttpOnly; SameSite=Strict; Path=/admin; Domain=b.example; Max-Age=0',
  );
});

test('over https only the cookie with the prefix counts', async () => {
  const { url } = behindProxy;
  const value = cookieOf(await signIn(url, FORWARDED)).split('=')[1] ?? '';
  const status = async (cookie: string, headers: Record<string, string> = FORWARDED): Promise<number> =>
    (await own(url, cookie, headers)).status;
  expect(await status(`__Host-atrium_session=${value}; atrium_session=${'x'.repeat(43)}`)).toBe(200);
  expect(await status(`atrium_session=${value}`)).toBe(401);
  expect(await status(`__Host-atrium_session=${value}`, {})).toBe(401);
  const twice = await own(url, `__Host-atrium_session=${value}; __Host-atrium_session=x`, FORWARDED);
  expect([twice.status, twice.headers.getSetCookie()]).toEqual([
    401,
    ['__Host-atrium_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure'],
  ]);
});

const find = (forwarded: string | undefined, peer: string): string | null => {
  const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const finder = new ClientFinder(['127.0.0.1', '10.0.0.0/8', '2001:db8::/32', '::1']);
  const request = new Request('http://localhost/', { headers });
  return finder.find(request, { requestIP: () => ({ address: peer }) }).address;
};

test.each([
  ['203.0.113.7', '127.0.0.1', '203.0.113.7'],
  ['6.6.6.6, 203.0.113.7, 10.2.3.4', '::ffff:127.0.0.1', '203.0.113.7'],
  ['203.0.113.7', '198.51.100.1', '198.51.100.1'],
  ['nonsense, 10.1.1.1', '10.0.0.2', '10.1.1.1'],
  ['[2001:DB9::1]:44', '2001:db8:1::1', '2001:db9::1'],
  ['203.0.113.7:5555', '::1', '203.0.113.7'],
  ['fe80::1%"x', '::1', '::1'],
  ['', '127.0.0.1', '127.0.0.1'],
  [undefined, '127.0.0.1', '127.0.0.1'],
  ['10.0.0.9', '::1', '10.0.0.9'],
])('X-Forwarded-For %j from %s is a request of %s', (forwarded, peer, client) => {
  expect(find(forwarded, peer)).toBe(client);
});

test.each([
  ['https', '127.0.0.1', true],
  ['HTTPS, http', '127.0.0.1', true],
  ['http, https', '127.0.0.1', false],
  ['https', '198.51.100.1', false],
])('X-Forwarded-Proto %j from %s: %p', (forwarded, peer, expected) => {
  const request = new Request('http://localhost/', { headers: { 'x-forwarded-proto': forwarded } });
  const client = new ClientFinder(['127.0.0.1']).find(request, { requestIP: () => ({ address: peer }) });
  expect(client.isHttps).toBe(expected);
});

test.each(['10.0.0.0/33', '10.0.0', 'proxy.example', '::1/129', '10.0.0.1,', '/8'])(
  'TRUSTED_PROXIES does not take %j',
  (text) => expect(PROXIES.parse(text)).toBeUndefined(),
);
