// What an upstream is sent: the caller's bytes, with its own name of the model, and nothing else that was not needed.

import { expect, test } from 'bun:test';
import { createBodies } from '../../src/gateway/bodies.ts';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { readRequest } from '../../src/gateway/request.ts';
import { createTargets } from '../../src/gateway/targets.ts';

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
  const bodyFor = createBodies(readRequest(Buffer.from(body)), { endpoint, includeUsage });
  return Buffer.from(await bodyFor(target)).toString();
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
    expect(createBodies(request, { endpoint: 'chat', includeUsage: false })(target)).toBe(request.bytes);
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
for (const [name, body, options, expected] of CASES) {
  test(name, async () => {
    expect(await sent(body, options)).toBe(expected);
  });
}
