// The portal as a browser gets it, and what its cookie is good for.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const built = Bun.spawnSync([process.execPath, 'src/console/build.ts'], {
  cwd: join(import.meta.dir, '../..'),
});
if (built.exitCode !== 0) throw new Error(built.stderr.toString());
const service = await shared(startService());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { headers, decompress: false } as RequestInit);

const assetsOf = (html: string): string[] => html.match(/\/admin\/assets\/[\w.-]+/g) ?? [];

/** Signs in and returns the Cookie header that a browser would send. */
async function signIn(): Promise<string> {
  const answer = await fetch(`${service.url}/admin/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: BOOTSTRAP_KEY }),
  });
  expect(answer.status).toBe(204);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

test('every page is the same document, which no cache keeps and no site frames', async () => {
  for (const path of ['/admin', '/admin/', '/admin/keys', '/admin/library?view=bin']) {
    const answer = await get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toStartWith("default-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    const html = await answer.text();
    expect(html).not.toMatch(/<script(?![^>]*src=)/);
    // Its script, its style, the texts of one language, and the page that is shown first.
    expect(assetsOf(html)).toHaveLength(4);
  }
});

test('the page that is shown first is loaded beside the script: the sign-in, or that of the address', async () => {
  const firstOf = async (path: string, cookie = ''): Promise<string | undefined> =>
    assetsOf(await (await get(path, { cookie })).text()).find((name) =>
      /\/(?:sign-in|keys|home)-/.test(name),
    );
  const cookie = await signIn();
  expect(await firstOf('/admin/keys')).toContain('/sign-in-');
  expect(await firstOf('/admin/keys', cookie)).toContain('/keys-');
  expect(await firstOf('/admin?x=1', cookie)).toContain('/home-');
});

test('an unknown page is 404 and still the portal; below the interface it is a refusal', async () => {
  const missing = await get('/admin/nothing-here');
  expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  for (const path of [
    '/admin/api',
    '/admin/api/nothing',
    '/admin/assets/nothing.js',
    '/admin/assets/..%2fmanifest.json',
  ]) {
    const answer = await get(path);
    expect([path, answer.status, await answer.json()]).toEqual([path, 404, { detail: 'Not Found' }]);
  }
});

test('theme and language of the reader stand in the document from the beginning', async () => {
  const html = async (headers: Record<string, string>) => (await get('/admin', headers)).text();
  expect(await html({})).toContain('<html lang="en">');
  expect(await html({ 'accept-language': 'de-CH,de;q=0.9,en;q=0.8' })).toContain('<html lang="de">');
  expect(await html({ 'accept-language': 'fr, de;q=0.9, en;q=0.8' })).toContain('<html lang="de">');
  expect(await html({ 'accept-language': 'de;q=0, en-GB;q=0.1' })).toContain('<html lang="en">');
  const chosen = { cookie: 'atrium_theme=dark; atrium_language=de' };
  expect(await html(chosen)).toContain('<html lang="de" data-theme="dark">');
  const hostile = { cookie: 'atrium_theme="><script>; atrium_language=xx' };
  expect(await html(hostile)).toContain('<html lang="en">');
});

test('files are compressed as the browser accepts it, and kept for ever', async () => {
  const [path = ''] = assetsOf(await (await get('/admin')).text());
  for (const [accepted, encoding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['identity', null],
  ] as const) {
    const answer = await get(path, { 'accept-encoding': accepted });
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, encoding]);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('vary')).toContain('accept-encoding');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('the cookie is good for the interface below /admin/call, and there alone', async () => {
  const cookie = await signIn();
  const call = (path: string, headers: Record<string, string> = { cookie }) =>
    get(`/admin/call${path}`, headers);
  expect((await call(`/v1/filter/${WORKSPACE}`)).status).toBe(200);
  expect((await call('/v1/models')).status).toBe(200);
  expect((await call(`/api/v1/chat/sessions/${WORKSPACE}`)).status).toBe(200);
  expect((await call(`/api/v1/workspace_metric/${WORKSPACE}/by_created_at`)).status).toBe(200);
  const event = { method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body: '{}' };
  const webhook = await fetch(`${service.url}/admin/call/chatapp/${WORKSPACE}/no-such-bot`, event);
  expect(webhook.status).toBe(404);
  expect((await call(`/v1/filter/${WORKSPACE}`, {})).status).toBe(401);
  expect((await call('/v1/filter/another')).status).toBe(403);
  expect((await call(`/v1/filter/${WORKSPACE}`, { cookie, 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await get(`/v1/filter/${WORKSPACE}`, { cookie })).status).toBe(422);
  expect((await get(`/api/v1/workspace_metric/${WORKSPACE}/by_created_at`, { cookie })).status).toBe(401);
});

test('a change below /admin/call with the Origin of another page is 403', async () => {
  const cookie = await signIn();
  const body = JSON.stringify({ model: 'local-echo', messages: [{ role: 'user', content: 'hello' }] });
  const ask = (origin: string) =>
    fetch(`${service.url}/admin/call/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie, origin, 'content-type': 'application/json' },
      body,
    });
  expect((await ask('https://evil.example')).status).toBe(403);
  expect((await ask(service.url)).status).toBe(200);
});

test('the description of the interface does not repeat its operations', async () => {
  const document = await (await get('/docs/json')).text();
  expect(document).not.toContain('/admin/call');
});
