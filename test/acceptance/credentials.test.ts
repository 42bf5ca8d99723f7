// Every operation of the OpenAPI document that asks for a credential says so before a byte of the body has come, and a 401
// names the headers in which a key is taken.

import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { operationsOf, readDocument } from './support/contract.ts';
import { sendRaw } from './support/raw-request.ts';
import { startSetting } from './support/setting.ts';

type Described = {
  name: string;
  method: string;
  path: string;
  /** Names of the security schemes. */
  schemes: string[];
  /** The header without which the request is invalid. */
  header: string | undefined;
  takesBody: boolean;
};

const setting = await shared(startSetting({ GATEWAY_ANONYMOUS: 'false' }));
const operations = operationsOf(await readDocument(setting.url)).map(({ name, method, path, operation }) => {
  const { parameters = [], security = [], requestBody } = operation;
  return {
    name,
    method,
    path: path.replaceAll('{workspace_id}', setting.workspace).replaceAll(/\{\w+\}/g, crypto.randomUUID()),
    schemes: security.flatMap((each) => Object.keys(each)),
    header: parameters.find((each) => each.in === 'header' && each.required)?.name,
    takesBody: requestBody !== undefined,
  };
});

type Head = { status: number; challenge: string | undefined };

/** The answer to a head that announces a body of which nothing comes. */
async function announce(
  { method, path, takesBody }: Described,
  headers: string[],
  length = 64,
): Promise<Head> {
  const body = takesBody ? ['content-type: application/json', `content-length: ${length}`] : [];
  const answer = await sendRaw(setting.url, { head: [`${method} ${path} HTTP/1.1`, ...body, ...headers] });
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]),
    challenge: /^www-authenticate: (.*?)\r$/im.exec(answer)?.[1],
  };
}

const BEARER = 'Bearer realm="atrium"';
const inHeader = (name: string): string => `ApiKey realm="atrium", header="${name}"`;

/** The challenge of an operation's schemes, whose names are the document's. */
const CHALLENGES: Record<string, string> = {
  'APIKeyHeader Bearer': `${BEARER}, ${inHeader('APIKeyHeader')}`,
  'ServiceKey Bearer': `${BEARER}, ${inHeader('svc-key')}`,
  Bearer: BEARER,
  'APIKeyHeader Bearer PortalCookie': `${BEARER}, ${inHeader('APIKeyHeader')}`,
  'AuthorizationParameter Bearer APIKeyHeader': `${BEARER}, ${inHeader('APIKeyHeader')}`,
  'Bearer APIKeyHeader': `${BEARER}, ${inHeader('APIKeyHeader')}`,
  'Bearer APIKeyHeader XApiKey ApiKey': `${BEARER}, ${['APIKeyHeader', 'x-api-key', 'api-key'].map(inHeader).join(', ')}`,
};

/** Runs `check` on every operation that asks for a credential; the names of those where it found something else. */
async function differing(check: (operation: Described) => Promise<unknown>): Promise<unknown[]> {
  const asking = operations.filter(({ schemes }) => schemes.length > 0);
  expect(asking.length).toBeGreaterThan(50);
  expect(asking.some(({ takesBody }) => takesBody)).toBeTrue();
  const found: unknown[] = [];
  for (const operation of asking) found.push(await check(operation));
  return found.filter((each) => each !== undefined);
}

test('without a credential: 401, or 422 where a header is required, and the body is not waited for', async () => {
  const wrong = await differing(async (operation) => {
    const { status, challenge } = await announce(operation, []);
    const expected = operation.header === undefined ? 401 : 422;
    const told = expected === 401 ? CHALLENGES[operation.schemes.join(' ')] : undefined;
    return status === expected && challenge === told
      ? undefined
      : { name: operation.name, status, expected, challenge, told };
  });
  expect(wrong).toEqual([]);
});

/** They say what the key is; each tool of the MCP server asks for a scope of its own. */
const OF_ANY_KEY = new Set(['GET /admin/api/session', 'GET /v1/me', 'GET /v1/me/usage', 'POST /mcp']);

const UNKNOWN = `atr_${'0'.repeat(39)}`;

test('with a wrong one: 401, which names where a key belongs, and the body is not waited for', async () => {
  const wrong = await differing(async (operation) => {
    const { header = 'Authorization', schemes } = operation;
    const credential = header.toLowerCase() === 'authorization' ? `Bearer ${UNKNOWN}` : UNKNOWN;
    const { status, challenge } = await announce(operation, [`${header}: ${credential}`]);
    const told = CHALLENGES[schemes.join(' ')];
    return status === 401 && challenge === told && told !== undefined
      ? undefined
      : { name: operation.name, status, challenge, told };
  });
  expect(wrong).toEqual([]);
});

test('a wrong bearer key is 401 on every operation that takes a key, and names where a key belongs', async () => {
  const wrong = await differing(async (operation) => {
    if (operation.schemes.join() === 'PortalCookie') return undefined;
    const { status, challenge } = await announce(operation, [`Authorization: Bearer ${UNKNOWN}`]);
    const told = CHALLENGES[operation.schemes.join(' ')];
    return status === 401 && challenge === told && operation.schemes.includes('Bearer')
      ? undefined
      : { name: operation.name, status, challenge, schemes: operation.schemes };
  });
  expect(wrong).toEqual([]);
});

test('a bearer key is accepted in place of the header; the header of the interface comes first', async () => {
  const { url, workspace } = setting;
  const { key } = await setting.people.newKey({ scopes: ['documents:read', 'chat', 'models', 'metrics'] });
  const bearer = { authorization: `Bearer ${key}` };
  const status = async (path: string, headers: Record<string, string>): Promise<number> =>
    (await fetch(`${url}${path}`, { headers })).status;
  for (const [path, header] of [
    [`/v1/filter/${workspace}`, 'APIKeyHeader'],
    [`/api/v1/chat/sessions/${workspace}`, 'svc-key'],
    [`/v1/models`, 'APIKeyHeader'],
    ['/v1/me', 'APIKeyHeader'],
  ] as const) {
    expect([path, await status(path, bearer)]).toEqual([path, 200]);
    expect([path, await status(path, { ...bearer, [header]: UNKNOWN })]).toEqual([path, 401]);
    expect([path, await status(path, { authorization: `Bearer ${UNKNOWN}`, [header]: key })]).toEqual([
      path,
      200,
    ]);
  }
  expect(await status(`/v1/filter/${workspace}`, { authorization: 'Basic eDp5' })).toBe(422);
  expect(await status(`/v1/filter/${workspace}`, { authorization: 'Bearer ' })).toBe(401);
  const metrics = `/api/v1/workspace_metric/${workspace}/by_created_at`;
  expect(await status(`${metrics}?authorization=${key}`, { APIKeyHeader: UNKNOWN })).toBe(200);
  expect(await status(metrics, { APIKeyHeader: key })).toBe(200);
});

test.each(['x-api-key', 'api-key'])(
  'models take a key in the header %s, other areas do not',
  async (header) => {
    const { url, workspace } = setting;
    const { key } = await setting.people.newKey({ scopes: ['documents:read', 'models'] });
    const status = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}${path}`, { headers })).status;
    expect(await status('/v1/models', { [header]: key })).toBe(200);
    expect(await status('/v1/models', { [header]: UNKNOWN })).toBe(401);
    expect(await status('/v1/models', { [header]: key, authorization: `Bearer ${UNKNOWN}` })).toBe(401);
    expect(await status(`/v1/filter/${workspace}`, { [header]: key })).toBe(422);
  },
);

test('with the key of another workspace, or without the scope: 403, and the body is not waited for', async () => {
  const elsewhere = await setting.elsewhere();
  const { key } = await elsewhere.people.newKey({ scopes: ['documents:read'] });
  const wrong = await differing(async (operation) => {
    if (OF_ANY_KEY.has(operation.name)) return undefined;
    const { header = 'Authorization' } = operation;
    const credential = header.toLowerCase() === 'authorization' ? `Bearer ${key}` : key;
    const { status } = await announce(operation, [`${header}: ${credential}`]);
    return status === 403 ? undefined : { name: operation.name, status };
  });
  expect(wrong).toEqual([]);
});

test('a sign-in, whose key is in its body, is refused by its size before it comes', async () => {
  const signIn = operations.find(({ name }) => name === 'POST /admin/api/session');
  if (signIn === undefined) throw new Error('there is no sign-in');
  expect((await announce(signIn, [], 65_537)).status).toBe(413);
});

test.each([
  ['GET', `/v1/acme/trash`, { APIKeyHeader: UNKNOWN }, 'header APIKeyHeader'],
  ['GET', `/api/v1/chat/sessions/acme`, { 'svc-key': UNKNOWN }, 'header svc-key'],
  ['GET', `/admin/api/workspaces`, { APIKeyHeader: UNKNOWN }, 'header APIKeyHeader'],
  ['GET', `/admin/api/workspaces`, { authorization: `Bearer ${UNKNOWN}` }, 'header Authorization'],
  ['GET', `/admin/api/workspaces`, {}, 'Authorization: Bearer …, or APIKeyHeader: …'],
  ['GET', `/v1/models`, { authorization: `Bearer ${UNKNOWN}` }, 'header Authorization'],
  ['GET', `/v1/models`, { authorization: UNKNOWN }, 'Authorization: Bearer …'],
  ['GET', `/api/v1/workspace_metric/acme/by_created_at?authorization=x`, {}, 'parameter authorization'],
  ['GET', `/api/v1/workspace_metric/acme/by_created_at`, { authorization: 'x' }, 'header authorization'],
  ['GET', `/api/v1/workspace_metric/acme/by_created_at`, {}, 'the parameter authorization'],
  ['POST', `/chatapp/acme/nobody`, { authorization: UNKNOWN }, 'header authorization'],
])('%s %s with %j: the sentence says where the key belongs', async (method, path, headers, words) => {
  const answer = await fetch(`${setting.url}${path}`, { method, headers: headers as Record<string, string> });
  expect(answer.status).toBe(401);
  expect(await answer.text()).toContain(words);
});
