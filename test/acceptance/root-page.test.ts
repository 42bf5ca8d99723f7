// What a person finds at the address of the service: the ways on, and the documentation of this version.

import { expect, test } from 'bun:test';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const service = await shared(startService());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${service.url}${path}`, { headers });

const HTML = 'text/html; charset=utf-8';

test('/ is a page for those who prefer HTML, and JSON for everybody else', async () => {
  const pages = [
    'text/html',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'TEXT/HTML;Q=0.5',
    'text/*',
    'text/html;charset=utf-8, application/json;q=0.9',
    'application/json;q=0.1, text/html;q=0.2',
    'application/json;q=0, */*',
  ];
  const programs = [
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'text/html, application/json',
    'text/html;q=0.9, application/json',
    'text/html;q=0',
    'text/html;q=0, */*',
    'text/html;q=2, application/json;q=0.1',
    'application/*, text/html;q=0.999',
    'image/png',
    'text/htmlx',
    'application/xhtml+xml',
    '',
    ';q=1,,',
  ];
  const answerTo = async (accept: string) => {
    const answer = await get('/', { accept });
    expect([accept, answer.status, answer.headers.get('vary')]).toEqual([accept, 200, 'accept']);
    return [accept, answer.headers.get('content-type')?.split(';')[0]];
  };
  for (const accept of pages) expect(await answerTo(accept)).toEqual([accept, 'text/html']);
  for (const accept of programs) expect(await answerTo(accept)).toEqual([accept, 'application/json']);
  expect(await (await get('/')).json()).toEqual({
    name: 'Atrium',
    version: expect.any(String),
    status: 'ok',
    docs: '/docs',
  });
});

test('the page needs no key, runs nothing, and loads nothing from elsewhere', async () => {
  const answer = await get('/', { accept: 'text/html' });
  expect(answer.headers.get('content-type')).toBe(HTML);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toStartWith("default-src 'none';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const page = await answer.text();
  expect(page).not.toMatch(/<script|https?:|127\.0\.0\.1/);
  const targets = [...page.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, target = '']) => target);
  expect(targets).toEqual(expect.arrayContaining(['/admin', '/docs', '/docs/pages/README.md', '/readyz']));
  for (const target of targets)
    expect([target, (await get(target, { accept: 'text/html' })).status]).toEqual([target, 200]);
});

test('the documentation is there as pages whose links and pictures lead somewhere', async () => {
  const seen = new Set<string>();
  const dead: string[] = [];
  const visit = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const answer = await get(path, { accept: 'text/html' });
    if (answer.status !== 200) dead.push(path);
    if (answer.headers.get('content-type') !== HTML) return;
    const targets = [...(await answer.text()).matchAll(/(?:href|src|srcset)="([^"]*)"/g)];
    for (const [, target = ''] of targets) {
      const { origin, pathname } = new URL(target, `${service.url}${path}`);
      if (origin === service.url && !target.startsWith('data:')) await visit(pathname);
    }
  };
  await visit('/docs/pages/README.md');
  expect(dead).toEqual([]);
  expect([...seen]).toEqual(
    expect.arrayContaining(['/docs/pages/guides/models.md', '/docs/pages/reference/settings.md']),
  );
  const guide = await (await get('/docs/pages/guides/models.md')).text();
  expect(guide).toContain('<table>');
  expect(guide).not.toContain('<script');
});

test('nothing but the documentation is served there', async () => {
  for (const path of [
    '/docs/pages/nothing.md',
    '/docs/pages/guides',
    '/docs/pages/../README.md',
    '/docs/pages/..%2fREADME.md',
    '/docs/pages/%2e%2e%2fpackage.json',
    '/docs/pages//etc/passwd',
  ])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
});
