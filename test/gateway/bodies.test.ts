// What an upstream is sent: the caller's members, with its own name of the model, and no other change that was not needed.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { echo } from '../../src/gateway/local/echo.ts';
import { GatewayRequest, readRequest } from '../../src/gateway/request.ts';
import { Targets } from '../../src/gateway/targets.ts';
import { bodyFor } from '../../src/gateway/upstream-request.ts';

const models = new Targets().build(
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
  ).models,
);

async function sent(
  body: string,
  { model = 'told', endpoint = 'chat' as 'chat' | 'embeddings' } = {},
): Promise<string> {
  const target = models.find(({ id }) => id === model)?.targets[0]?.target;
  if (target?.upstream === undefined) throw new Error(`no model ${model}`);
  const request = await readRequest(Buffer.from(body));
  return bodyFor(target.upstream, target.model, { request, endpoint });
}

test('the name of the model is the upstream’s', async () => {
  expect(await sent('{ "model" :"told"}')).toBe('{"model":"theirs"}');
  expect(await sent('{"x":{"model":"told"},"model":"told","models":["told"]}')).toBe(
    '{"x":{"model":"told"},"model":"theirs","models":["told"]}',
  );
});

test('other members are the same values, whatever they are', async () => {
  const rest =
    '"seed":9007199254740993,"n":123456789012345678901234567890,"x":[1e400,-1E-400,0.1000000000000000055511151231257827],"é":"\\u0000😀\\ud800","__proto__":{"a":null}';
  expect(await sent(`{"model":"told",${rest}}`)).toBe(`{"model":"theirs",${rest}}`);
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (members) => {
      const body = JSON.stringify({ ...members, model: 'told' });
      expect(await sent(body)).toBe(JSON.stringify({ ...members, model: 'theirs' }));
    }),
  );
});

test('of two members of one name the last one is sent', async () => {
  expect(await sent(String.raw`{"model":"same","mod\u0065l":"told","a":1,"a":2}`)).toBe(
    '{"model":"theirs","a":2}',
  );
});

const CASES: [name: string, body: string, options: Parameters<typeof sent>[1], expected: string][] = [
  [
    'a stream is asked to tell its usage',
    '{"model":"told","stream":true}',
    {},
    '{"model":"theirs","stream":true,"stream_options":{"include_usage":true}}',
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
    {},
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

describe('a body', () => {
  const read = (body: string): Promise<GatewayRequest> => readRequest(Buffer.from(body));

  test('is asked by its model and whether it streams', async () => {
    const { model, stream } = await read(String.raw`{"mod\u0065l":"\u0061","stream":true}`);
    expect([model, stream]).toEqual(['a', true]);
    const none = await read('{"stream":null}');
    expect([none.model, none.stream]).toEqual([undefined, false]);
  });

  const refused: [body: string, sentence: RegExp][] = [
    ['', /not valid JSON/],
    ['{', /not valid JSON/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['"model"', /must be a JSON object/],
    ['\ufeff{"model":"a"}', /not valid JSON/],
    ['{"model":"a",}', /not valid JSON/],
    ['{"model":1}', /'model' must be a string/],
    ['{"model":null}', /'model' must be a string/],
    ['{"model":"\\x"}', /not valid JSON/],
    ['{"model":"a","stream":"yes"}', /'stream' must be a boolean/],
    ['{"model":"a","stream":1}', /'stream' must be a boolean/],
    [`{"a":${'['.repeat(600)}${']'.repeat(600)}}`, /nested too deeply/],
    [`{"a":${'['.repeat(1_000_000)}`, /nested too deeply/],
    [`{"a":[${'1,'.repeat(600_000)}1]}`, /more than 524288 values/],
    [`{${Array.from({ length: 1001 }, (_, at) => `"a${at}":1`)}}`, /more than 1000 members/],
    [`{"model":"${'\\"'.repeat(1_100_000)}"}`, /'model' is too large/],
  ];
  for (const [body, sentence] of refused)
    test(`is refused: ${body.slice(0, 40)}`, async () => {
      await expect(read(body)).rejects.toThrow(sentence);
    });

  test('is refused where it is no UTF-8', async () => {
    await expect(readRequest(Buffer.from('{"x":"\xff"}', 'latin1'))).rejects.toThrow(/not valid JSON/);
  });
});

describe('a request that another area makes as an object', () => {
  const messages = [{ role: 'user', content: 'one two' }];

  test('is never written for a built-in model', async () => {
    const toJSON = (): never => {
      throw new Error('it was written');
    };
    const request = new GatewayRequest({ messages, toJSON } as never);
    const call = {
      endpoint: 'chat' as const,
      request,
      signal: new AbortController().signal,
      caller: { workspaceId: 'w', email: '', keyId: '', limits: {} },
    };
    const answer = await echo(call);
    if (answer.kind !== 'whole') throw new Error('it is a stream');
    expect(Buffer.from(answer.bytes).toString()).toContain('Echo: one two');
  });
});
