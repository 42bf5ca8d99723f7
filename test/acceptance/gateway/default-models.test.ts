// A request that names no model is answered by the default of its endpoint, where the models file states one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ModelsFile, startGateway } from '../../support/gateway.ts';
import { bodyOf, createCaller } from '../support/caller.ts';
import { expectOpenAiError } from './setting.ts';

const BODIES: [endpoint: string, path: string, body: object][] = [
  ['chat', '/chat/completions', { messages: [{ role: 'user', content: 'hello' }] }],
  ['completions', '/completions', { prompt: 'hello' }],
  ['embeddings', '/embeddings', { input: 'hello' }],
  ['images', '/images/generations', { prompt: 'a cat' }],
];

/** Each endpoint has a model that says whose it is, and one before it that is not meant. */
const fileOf =
  (defaults: Record<string, string> | undefined) =>
  (url: string): ModelsFile => ({
    upstreams: { mock: { base_url: `${url}/v1` } },
    models: Object.fromEntries(
      ['other', 'default'].flatMap((name) =>
        BODIES.map(([endpoint]) => {
          const upstreamModel = `ok+key=${name}-${endpoint}`;
          return [
            `${name}-${endpoint}`,
            { endpoints: [endpoint], targets: [{ upstream: 'mock', model: upstreamModel }] },
          ];
        }),
      ),
    ),
    ...(defaults === undefined ? {} : { defaults }),
  });

describe('with a default for each endpoint', () => {
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  beforeAll(async () => {
    gateway = await startGateway(
      fileOf(Object.fromEntries(BODIES.map(([endpoint]) => [endpoint, `default-${endpoint}`]))),
    );
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const ask = (path: string, json: object) =>
    createCaller(gateway.url)('POST', path, { headers: { authorization: `Bearer ${gateway.key}` }, json });

  for (const [endpoint, path, body] of BODIES) {
    test(`${endpoint}: a request without a model is its`, async () => {
      for (const prefix of ['/v1', '']) bodyOf(await ask(`${prefix}${path}`, body), 200);
      expect((await gateway.mock.state(`default-${endpoint}`)).requests).toBe(2);
      expect((await gateway.mock.state(`other-${endpoint}`)).requests).toBe(0);
      const sent = JSON.parse(
        (await gateway.mock.state(`default-${endpoint}`)).last[0]?.body ?? '',
      ) as object;
      expect(sent).toEqual({ ...body, model: `ok+key=default-${endpoint}` });
    });
  }

  test('a request that names a model is that model’s, and an empty name is none', async () => {
    const [, path, body] = BODIES[0] ?? ['', '', {}];
    bodyOf(await ask(path, { ...body, model: 'other-chat' }), 200);
    expect((await gateway.mock.state('other-chat')).requests).toBe(1);
    expect(expectOpenAiError(await ask(path, { ...body, model: '' }), 400).param).toBe('model');
  });
});

test('without a default a request without a model is 400', async () => {
  await using gateway = await startGateway(fileOf(undefined));
  const call = createCaller(gateway.url);
  for (const [, path, json] of BODIES) {
    const answer = await call('POST', path, { headers: { authorization: `Bearer ${gateway.key}` }, json });
    expect(expectOpenAiError(answer, 400)).toMatchObject({
      param: 'model',
      code: 'missing_required_parameter',
    });
  }
  expect((await gateway.mock.totals()).requests).toBe(0);
});
