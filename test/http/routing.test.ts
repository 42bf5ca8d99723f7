// What the router matched and what the boundary parsed are one operation with one set of parameters, whatever stands in
// the request's target and Host; everything else is 404. The targets are written to the socket byte by byte.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import fc from 'fast-check';
import { listen } from '../../src/app.ts';
import type { Routes } from '../../src/http/area.ts';
import { ELYSIA_OPTIONS } from '../../src/http/http.ts';
import { parameters } from '../../src/http/input.ts';
import { sendRaw } from '../acceptance/support/raw-request.ts';
import { serveRoutes } from '../support/serve-routes.ts';

/** The shapes of the service's own paths: every one is the end of another, or becomes it by a segment more or less. */
const PATHS = [
  '/',
  '/metrics',
  '/models',
  '/v1/models',
  '/v1/models/{model}',
  '/v1/filter/{workspace_id}',
  '/v1/{workspace_id}/trash',
  '/v1/{workspace_id}/trash/{file_id}',
  '/v1/{workspace_id}/{file_id}',
  '/v1/metadata/{workspace_id}/archive/list',
  '/v1/metadata/{workspace_id}/{document}/detail',
  '/{workspace_id}/v1/embeddings',
  '/admin/api/workspaces/{workspace_id}/keys',
];

/** Answers with the path of the route and the parameters in a header. */
const echo: Routes = ({ plugin }) => {
  const area: AnyElysia = new Elysia().use(plugin);
  for (const path of PATHS) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
    area.get(
      path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ({ params, query }) => {
        const told = JSON.stringify([path, params, query]);
        return new Response(null, { headers: { 'x-told': encodeURIComponent(told) } });
      },
      {
        params: parameters(Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])))),
        query: parameters(Type.Object({ q: Type.Optional(Type.String()) })),
      },
    );
  }
  return area;
};

let url: string;
let stop: () => Promise<unknown>;

beforeAll(() => {
  const open = PATHS.map((path) => `GET ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`);
  const server = listen(serveRoutes([echo], { open, options: ELYSIA_OPTIONS }).fetch, {
    hostname: '127.0.0.1',
    port: 0,
  });
  url = `http://127.0.0.1:${server.port}`;
  stop = async () => server.stop(true);
});
afterAll(() => stop());

type Told = { status: number; told: unknown };

async function ask(target: string, host: string | null = 'localhost'): Promise<Told> {
  const answer = await sendRaw(url, { head: [`GET ${target} HTTP/1.1`], host });
  const told = /^x-told: (.*?)\r$/im.exec(answer)?.[1];
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]),
    told: told === undefined ? null : JSON.parse(decodeURIComponent(told)),
  };
}

/** What an operation's path makes of a target: the reference, which knows neither the router nor the boundary. */
function expectedOf(target: string, read = normalised): object | null {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? '';
  const rest = target.slice(origin.length);
  const [path, query] = read(rest.startsWith('/') ? rest : `/${rest}`);
  const segments = path.replace(/(?<=.)\/$/, '').split('/');
  const found = PATHS.filter((each) => {
    const pattern = each.split('/');
    return (
      pattern.length === segments.length &&
      pattern.every((part, at) => (part.startsWith('{') ? segments[at] !== '' : part === segments[at]))
    );
  });
  // The most literal path wins, segment by segment.
  const [first] = found.sort((a, b) => (literals(a) < literals(b) ? 1 : -1));
  if (first === undefined) return null;
  const names = first.split('/').map((part) => /^\{(\w+)\}$/.exec(part)?.[1]);
  const parameters = names.flatMap((name, at) =>
    name === undefined ? [] : [[name, decodeURIComponent(segments[at] ?? '')]],
  );
  return [first, Object.fromEntries(parameters), query === undefined ? {} : { q: query }];
}

const literals = (path: string): string =>
  path
    .split('/')
    .map((part) => (part.startsWith('{') ? '0' : '1'))
    .join('');

/** Path and `q` of an origin-form target, as the URL standard reads them. */
function normalised(target: string): [path: string, q: string | undefined] {
  const { pathname, searchParams } = new URL(`http://localhost${target}`);
  return [pathname, searchParams.get('q') ?? undefined];
}

/** As it was sent: without an origin there is no URL that could be resolved. */
function literal(target: string): ReturnType<typeof normalised> {
  const [path = '', ...query] = target.split('?');
  return [path, new URLSearchParams(`?${query.join('?')}`).get('q') ?? undefined];
}

const WORDS = [
  'v1',
  'metrics',
  'models',
  'filter',
  'metadata',
  'archive',
  'list',
  'detail',
  'trash',
  'embeddings',
  'admin',
  'api',
  'workspaces',
  'keys',
  'acme',
  'default',
  'public',
];
const ODD = [
  '',
  '.',
  '..',
  '%2e%2e',
  '%2f',
  'a%2Fb',
  'a\\b',
  '..\\v1',
  '%5c',
  'v%31',
  'MODELS',
  'a:b',
  '@',
  ':80',
  '*',
];

const hosts = fc.constantFrom(
  'y',
  'ab',
  'abc',
  'localhost',
  '127.0.0.1:3000',
  '[::1]',
  '[::1]:80',
  'example.com',
  'a:1',
);
/** What is no host at all: the request's URL then has no origin. */
const oddHosts = fc.constantFrom(
  '',
  'u:p@h',
  'a/b',
  'a?b',
  'a#b',
  'a b',
  'a\\b',
  '%zz',
  'v1/x',
  '/',
  '//',
  'http://x/v1',
);
const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD) },
);
/** A path of the list with a mistake or none, or any segments. */
const path = fc.oneof(
  fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  fc
    .tuple(
      fc.constantFrom(...PATHS),
      segment,
      fc.constantFrom('', '/', '//', '/.', '/..', '/x'),
      fc.constantFrom('', '/', '/public', '/default', '/x/..'),
    )
    .map(([each, word, tail, lead]) => `${lead}${each.replaceAll(/\{\w+\}/g, word)}${tail}`),
);
const target = fc
  .tuple(
    fc.constantFrom('', '', '', 'http://h', 'HTTP://h:80', 'http://y', 'https://u:p@host', 'http://[::1]'),
    path,
    fc.constantFrom('', '?q=1', '?q=/v1/models', '?', '??q=/metrics'),
  )
  .map((parts) => parts.join(''));

test('every target is answered by the operation and with the parameters that its own path names, or with 404', async () => {
  await fc.assert(
    fc.asyncProperty(target, hosts, async (sent, host) => {
      const { status, told } = await ask(sent, host);
      const expected = expectedOf(sent);
      if (told !== null) expect<unknown>(told).toEqual(expected);
      else expect(status).toBeOneOf([404, 405]);
      // Plain targets are never refused: no backslash, no dots to resolve, nothing empty.
      if (!/\\|\/\/|\.|%2e/i.test(sent.replace(/^https?:\/\//i, ''))) expect<unknown>(told).toEqual(expected);
    }),
    { numRuns: 1500 },
  );
});

test('with a Host that is none, a target is answered by its own operation or not at all', async () => {
  await fc.assert(
    fc.asyncProperty(target, oddHosts, async (sent, host) => {
      const { status, told } = await ask(sent, host);
      if (told !== null) expect<unknown>(told).toEqual(expectedOf(sent, literal));
      else expect(status).toBeOneOf([400, 404]);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['/public/metrics', 'y'],
  ['//metrics', 'y'],
  ['//default/v1/acme/trash', 'y'],
  ['/x/v1/models', 'ab'],
  ['/public/metrics', ''],
  ['/v1/acme/x\\y', 'localhost'],
  ['/v1//trash', 'localhost'],
  ['/v%31/models', 'localhost'],
])('%s with the Host %j is 404', async (sent, host) => {
  expect(await ask(sent, host)).toEqual({ status: 404, told: null });
});

test.each([
  ['/v1/models', 'y'],
  ['/v1/models/', 'y'],
  ['/v1/acme/../models/trash/..', 'y'],
  ['/v1/acme\\trash', 'localhost'],
  ['/', 'y'],
  ['/v1/filter/acme', '[::1]'],
  ['HTTP://other.example:99/v1/filter/acme', 'localhost'],
  ['/v1/metadata/acme/a%2Fb/detail?q=/metrics', 'y'],
  ['/v1/metadata/%2e%2e/acme/detail', 'localhost'],
  ['/..\\v1/v1/embeddings', 'y'],
])('%s with the Host %j is its operation', async (sent, host) => {
  expect(await ask(sent, host)).toEqual({ status: 200, told: expectedOf(sent) });
});
