// What an upstream is sent: the caller's bytes, with its own name of the model, and nothing else that was not needed.

import { describe, expect, test } from 'bun:test';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { answerLocally } from '../../src/gateway/local/index.ts';
import { readRequest, requestOf } from '../../src/gateway/request.ts';
import { createTargets } from '../../src/gateway/targets.ts';
import { bodyFor } from '../../src/gateway/upstream-request.ts';

const { models } = createTargets().build(
  parseModelsFile(
    JSON.stringify({
      upstreams: {
        told: { base_url: 'http://told' },
        unsynced: { base_url: 'http://unsynced', stream_usage: false },
      },
      models: {
        told: { targets: [{ upstream: 'told', model: 'theirs' }] },
        unsynced: { targets: [{ upstream: 'unsynced', model: 'theirs' }] },
        same: { targets: [{ upstream: 'told', model: 'same' }] },
      },
    }),
    () => undefined,
  ),
);

async function sent(
  body: string,
  { model = 'told', endpoint = 'chat' as 'chat' | 'embeddings', includeUsage = false } = {},
): Promise<string> {
  const target = models.find(({ id }) => id === model)?.targets[0]?.target;
  if (target === undefined) throw new Error(`no model ${model}`);
  const request = readRequest(Buffer.from(body));
  return Buffer.from(await bodyFor(target, { request, endpoint, includeUsage })).toString();
}

test('the name of the model is the upstream’s', async () => {
  expect(await sent('{"model":"told","seed":9007199254740993 }')).toBe(
    '{"model":"theirs","seed":9007199254740993 }',
  );
});

test('a body that need not change is the same bytes', async () => {
  const request = readRequest(Buffer.from('{"model":"same"}'));
  const target = models.find(({ id }) => id === 'same')?.targets[0]?.target;
  if (target !== undefined)
    expect(bodyFor(target, { request, endpoint: 'chat', includeUsage: false })).toBe(request.bytes);
});

const CASES: [name: string, body: string, options: Parameters<typeof sent>[1], expected: string][] = [
  [
    'a stream is asked to tell its usage',
    '{"model":"told","stream":true}',
    {},
    '{"stream_options":{"include_usage":true},"model":"theirs","stream":true}',
  ],
  [
    'beside the options that were given',
    '{"model":"told","stream":true,"stream_options":{"include_usage":false,"x":1}}',
    {},
    '{"model":"theirs","stream":true,"stream_options":{"include_usage":true,"x":1}}',
  ],
  [
    'in place of options that are none',
    '{"model":"told","stream":true,"stream_options":null}',
    {},
    '{"model":"theirs","stream":true,"stream_options":{"include_usage":true}}',
  ],
  [
    'unless the caller asks for it',
    '{"model":"told","stream":true,"stream_options":{"include_usage":true}}',
    { includeUsage: true },
    '{"model":"theirs","stream":true,"stream_options":{"include_usage":true}}',
  ],
  ['or nothing is streamed', '{"model":"told","stream":false}', {}, '{"model":"theirs","stream":false}'],
  [
    'or the upstream does not know how',
    '{"model":"unsynced","stream":true}',
    { model: 'unsynced' },
    '{"model":"theirs","stream":true}',
  ],
  [
    'or it is no text',
    '{"model":"told","stream":true}',
    { endpoint: 'embeddings' },
    '{"model":"theirs","stream":true}',
  ],
];
for (const [name, body, options, expected] of CASES)
  test(name, async () => {
    expect(await sent(body, options)).toBe(expected);
  });

describe('a request that another area makes as an object', () => {
  const messages = [{ role: 'user', content: 'one two' }];

  test('is written once it is sent, with the upstream’s name of the model', async () => {
    const target = models.find(({ id }) => id === 'told')?.targets[0]?.target;
    if (target === undefined) throw new Error('no model told');
    const request = requestOf({ model: 'told', messages, stream: true });
    const body = await bodyFor(target, { request, endpoint: 'chat', includeUsage: false });
    expect(JSON.parse(Buffer.from(body).toString())).toEqual({
      model: 'theirs',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(Buffer.from(request.bytes).toString()).toBe(
      JSON.stringify({ model: 'told', messages, stream: true }),
    );
  });

  test('is never written for a built-in model', async () => {
    const toJSON = (): never => {
      throw new Error('it was written');
    };
    const request = requestOf({ messages, toJSON } as never);
    const call = {
      endpoint: 'chat' as const,
      modelId: 'local-echo',
      request,
      includeUsage: false,
      signal: new AbortController().signal,
      caller: { workspaceId: 'w', email: '', keyId: '', limits: {} },
    };
    const answer = await answerLocally('local-echo', call, async () => new Float32Array());
    if (answer.kind !== 'whole') throw new Error('it is a stream');
    expect(Buffer.from(answer.bytes).toString()).toContain('Echo: one two');
  });
});
