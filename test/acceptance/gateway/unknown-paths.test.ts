// What the gateway does not have, asked as SDKs ask for it: OpenAI's error, which tells a wrong URL from a wrong model.
// The documents' paths, which begin with /v1 as well, keep their own.

import { describe, expect, test } from 'bun:test';
import OpenAI, { NotFoundError } from 'openai';
import { startGateway } from '../../support/gateway.ts';
import { shared } from '../../support/shared.ts';
import { createCaller } from '../support/caller.ts';
import { expectOpenAiError } from './setting.ts';

const targets = [{ upstream: 'mock', model: 'ok' }];
const gateway = await shared(
  startGateway((url) => ({
    upstreams: { mock: { base_url: `${url}/v1` } },
    models: {
      plain: { targets },
      'meta-llama/Llama-3': { targets },
      'accounts/fireworks/models/llama': { targets },
      'odd/': { targets },
    },
  })),
);
const call = createCaller(gateway.url);

const headers = () => ({ authorization: `Bearer ${gateway.key}` });
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

describe('a URL of OpenAI’s API that there is not', () => {
  const paths = [
    '/v1/responses',
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/cancel',
    '/responses',
    '/v1/audio/speech',
    '/v1/audio/transcriptions',
    '/v1/moderations',
    '/v1/rerank',
    '/v1/messages',
    '/v1/files',
    '/v1/files/file-1/content',
    '/v1/batches',
    '/v1/fine_tuning/jobs',
    '/v1/assistants',
    '/v1/threads/t/messages',
    '/v1/vector_stores',
    '/v1/uploads',
    '/v1/images/edits',
    '/v1/images',
    '/v1/chat',
    '/v1/chat/completions/chatcmpl-1',
    '/chat',
    '/v1/embeddings/x',
    '/completions/x',
    '/v1/chat/trash',
    '/v1',
    '/v1/',
    '/v1/metadata',
    '/v1/filter',
    '/v1/acme/trash/a/b',
    '/v1/acme/nothing/else',
    '/v1/chats',
    '/v1/containers/c/files',
  ];
  for (const path of paths) {
    test(`is 404 unknown_url: ${path}`, async () => {
      for (const method of METHODS) {
        // One path of the documents has this shape, and their workspaces may have any other name.
        if (method === 'DELETE' && /^\/v1\/(?!chat|images|embeddings)[^/]+\/[^/]+$/.test(path)) continue;
        const error = expectOpenAiError(await call(method, path, { headers: headers() }), 404);
        expect(error).toMatchObject({ code: 'unknown_url', type: 'invalid_request_error', param: null });
        expect(error.message).toContain(`${method} ${path}`);
      }
    });
  }

  test('does not tell what its query holds, nor itself at any length', async () => {
    const { message } = expectOpenAiError(
      await call('GET', '/v1/responses/x', { query: { api_key: 'sk-secret' } }),
      404,
    );
    expect(message).not.toContain('sk-secret');
    const long = expectOpenAiError(await call('GET', `/v1/responses/${'x'.repeat(5000)}`), 404);
    expect(long.message.length).toBeLessThan(500);
  });

  test('is not found, in the words of the SDK', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    for (const asked of [
      client.responses.create({ model: 'plain', input: 'hello' }),
      client.moderations.create({ input: 'hello' }),
      client.files.list(),
    ]) {
      const error = await asked.then(undefined, (thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NotFoundError);
      expect((error as NotFoundError).code).toBe('unknown_url');
    }
  });
});

describe('an operation that is asked with another method', () => {
  const known: [path: string, allowed: string][] = [
    ['/v1/chat/completions', 'POST'],
    ['/completions', 'POST'],
    ['/v1/images/generations', 'POST'],
    ['/v1/embeddings', 'POST'],
    ['/v1/models', 'GET'],
    ['/models', 'GET'],
    ['/v1/models/plain', 'GET'],
    ['/v1/models/meta-llama/Llama-3', 'GET'],
  ];
  for (const [path, allowed] of known) {
    test(`is 405: ${path}`, async () => {
      for (const method of METHODS.filter((each) => each !== allowed)) {
        const response = await fetch(`${gateway.url}${path}`, { method, headers: headers() });
        const { error } = (await response.json()) as { error: { code: string } };
        expect([method, response.status, response.headers.get('allow'), error.code]).toEqual([
          method,
          405,
          allowed,
          'method_not_allowed',
        ]);
      }
    });
  }
});

describe('a model whose name has slashes', () => {
  const find = (path: string): Promise<Response> => fetch(`${gateway.url}${path}`, { headers: headers() });

  for (const [name, ...paths] of [
    [
      'meta-llama/Llama-3',
      'meta-llama/Llama-3',
      'meta-llama%2FLlama-3',
      'meta-llama%2fLlama-3',
      'meta-llama/Llama-3/',
    ],
    [
      'accounts/fireworks/models/llama',
      'accounts/fireworks/models/llama',
      'accounts%2Ffireworks/models%2Fllama',
    ],
    ['odd/', 'odd%2F', 'odd%2F/'],
    ['plain', 'plain', 'plain/', 'pl%61in'],
  ] as const) {
    test(`is found: ${name}`, async () => {
      for (const prefix of ['/v1/models', '/models'])
        for (const path of paths) {
          const response = await find(`${prefix}/${path}`);
          expect([path, response.status, ((await response.json()) as { id: string }).id]).toEqual([
            path,
            200,
            name,
          ]);
        }
    });
  }

  test('is found by the SDK', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
    expect((await client.models.retrieve('meta-llama/Llama-3')).id).toBe('meta-llama/Llama-3');
  });

  test('is unknown where no model has just this name', async () => {
    for (const path of [
      'meta-llama',
      'meta-llama/llama-3',
      'meta-llama//Llama-3',
      'a/b',
      'a/b/c',
      '%2F',
      'a%2F..%2Fplain',
    ]) {
      const response = await find(`/v1/models/${path}`);
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      expect([path, response.status, error]).toEqual([
        path,
        404,
        expect.objectContaining({ code: 'model_not_found', param: 'model' }),
      ]);
    }
    const broken = await find('/v1/models/a/%ff');
    expect([broken.status, await broken.json()]).toEqual([400, { error: expect.any(Object) }]);
  });
});

test('paths that are not the gateway’s keep the words of the documents', async () => {
  for (const path of ['/api/v1/chat/completions', '/chatapp', '/acme/v1/chat'])
    expect(await (await fetch(`${gateway.url}${path}`, { headers: headers() })).json()).toEqual({
      detail: 'Not Found',
    });
  const wrong = await fetch(`${gateway.url}/v1/acme/trash`, { method: 'POST' });
  expect([wrong.status, wrong.headers.get('allow'), await wrong.json()]).toEqual([
    405,
    'DELETE, GET',
    { detail: 'Method Not Allowed' },
  ]);
  // It may be a workspace's name.
  const bin = await fetch(`${gateway.url}/v1/responses/trash`);
  expect([bin.status, Object.keys((await bin.json()) as object)]).toEqual([422, ['detail']]);
});
