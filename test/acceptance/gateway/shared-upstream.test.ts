// Several workspaces share an upstream's account: no header of a caller lets it be taken there for another one.

import { expect, test } from 'bun:test';
import { startGateway } from '../../support/gateway.ts';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf } from '../support/caller.ts';
import { createClient } from './client.ts';

const gateway = await shared(
  startGateway((mockUrl) => ({
    upstreams: {
      mock: { base_url: `${mockUrl}/v1`, retries: 1, embedding_inputs_max: 1 },
      preview: { base_url: `${mockUrl}/v1`, betas: ['preview=v1', 'other=v2'] },
    },
    models: {
      ok: { targets: [{ upstream: 'mock', model: 'ok' }] },
      preview: { targets: [{ upstream: 'preview', model: 'ok+key=preview' }] },
      failing: { targets: [{ upstream: 'mock', model: 'status-500+key=failing+times=1' }] },
      embed: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: 'ok+key=embed' }] },
    },
  })),
);
const client = createClient(gateway);

const seenBy = async (key: string): Promise<Record<string, string>[]> =>
  (await gateway.mock.state(key)).last.map(({ headers }) => headers);

/** The headers that the upstream has seen. */
async function send(headers: Record<string, string>, key?: string, model = 'ok') {
  const answer = await client.ask(model, { key, headers });
  expect(answer.status).toBe(200);
  await answer.text();
  return (await seenBy(model)).at(-1) ?? {};
}

async function keyOf(workspace: string): Promise<string> {
  const made = await client.call('POST', `/admin/api/workspaces/${workspace}/keys`, {
    key: gateway.key,
    json: { name: 'test', scopes: ['models'] },
  });
  return bodyOf<{ key: string }>(made, 201).key;
}

test('an idempotency key is one of its workspace and API key', async () => {
  bodyOf(
    await client.call('POST', '/admin/api/workspaces', { key: gateway.key, json: { id: 'elsewhere' } }),
    201,
  );
  const keys = [await keyOf(WORKSPACE), await keyOf(WORKSPACE), await keyOf('elsewhere')];
  const sent = { 'Idempotency-Key': 'pay-once' };
  const seen: (string | undefined)[] = [];
  for (const key of keys) seen.push((await send(sent, key))['idempotency-key']);
  expect(new Set(seen).size).toBe(3);
  for (const each of seen) expect(each).toMatch(/^[\w-]{20,64}$/);
  // What one caller sends again is the same request.
  expect((await send(sent, keys[0]))['idempotency-key']).toBe(seen[0]);
  expect((await send({ 'Idempotency-Key': 'another' }, keys[0]))['idempotency-key']).not.toBe(seen[0]);
});

test('an idempotency key is the same in a retry, and another one for each part of a batch', async () => {
  const headers = { 'Idempotency-Key': 'pay-once' };
  await (await client.ask('failing', { headers })).text();
  const tried = (await seenBy('failing')).map((each) => each['idempotency-key']);
  expect(tried).toHaveLength(2);
  expect(new Set(tried).size).toBe(1);
  const body = { input: ['a', 'b', 'c'], messages: undefined };
  expect((await client.ask('embed', { headers, path: '/v1/embeddings', body })).status).toBe(200);
  expect(new Set((await seenBy('embed')).map((each) => each['idempotency-key'])).size).toBe(3);
});

test('of openai-beta the values pass that are allowed', async () => {
  const betaOf = async (value: string, model?: string) =>
    (await send({ 'OpenAI-Beta': value }, undefined, model))['openai-beta'];
  expect(await betaOf('assistants=v2')).toBe('assistants=v2');
  expect(await betaOf('shared-cache=v1, assistants=v2,assistants=v22')).toBe('assistants=v2');
  expect(await betaOf('shared-cache=v1')).toBeUndefined();
  expect(await betaOf('assistants=v2, preview=v1,other=v2', 'preview')).toBe('preview=v1, other=v2');
});

test('other headers pass as the service understands them, or not at all', async () => {
  const seen = await send({
    'OpenAI-Version': '2020-10-01',
    'X-Request-Id': 'mine-1',
    'X-Client-Request-Id': 'mine-2',
    'X-Stainless-Lang': 'js',
    'Anthropic-Beta': 'files',
    Cookie: 'a=b',
    'Cache-Control': 'max-age=1',
  });
  expect(seen).toMatchObject({ 'openai-version': '2020-10-01', 'x-request-id': 'mine-1' });
  for (const name of ['x-client-request-id', 'x-stainless-lang', 'anthropic-beta', 'cookie', 'cache-control'])
    expect(seen[name]).toBeUndefined();
  const odd = await send({ 'OpenAI-Version': 'latest', 'X-Request-Id': `${'x'.repeat(300)} y` });
  expect(odd['openai-version']).toBeUndefined();
  expect(odd['x-request-id']).toBeUndefined();
});
