// The models file: what it can say, and that each mistake is told with its line and reason.

import { describe, expect, test } from 'bun:test';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';

const VARIABLES: Record<string, string> = { MAIN_API_KEY: 'sk-main', EMPTY: '', LINES: 'a\nb' };
const parse = (text: string) => parseModelsFile(text, (name) => VARIABLES[name]);

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: the file names variables so.
const GOOD = `
upstreams:
  main:
    base_url: https://models.example/v1/
    api_key: \${MAIN_API_KEY}
    headers: {X-Team: blue, X-Key: "k-\${MAIN_API_KEY}"}
    timeout_ms: {connect: 1, first_byte: 2, idle: 3, total: 4, reader: 5}
    retries: 0
    concurrency: {max: 5, queue: 6}
    embedding_inputs_max: 7
    stream_usage: false
  claude: {kind: anthropic, base_url: https://claude.example}
  azure: {kind: azure, base_url: https://azure.example, api_version: 2024-10-21, pass_organization: true}
models:
  gpt-4o-mini:
    endpoints: [chat, completions]
    strategy: latency
    targets: [{upstream: main, model: gpt, weight: 3}, {upstream: azure, model: mini, weight: 0}]
    fallbacks: [claude/opus, local-echo]
    price: {input_per_million: 0.15, output_per_million: 0.60}
    cache: {ttl_seconds: 60}
    owned_by: us
    description: small
  claude/opus: {endpoints: [chat, completions], targets: [{upstream: main, model: opus}]}
  opus: {endpoints: [chat], targets: [{upstream: claude, model: opus}]}
  pictures: {endpoints: [images], targets: [{upstream: main, model: p}]}
defaults: {chat: opus, embeddings: local-multilingual-e1}
`;

test('all that it can say is understood', () => {
  const { models, defaults } = parse(GOOD);
  expect(models.map(({ id }) => id)).toEqual([
    'gpt-4o-mini',
    'claude/opus',
    'opus',
    'pictures',
    'local-echo',
    'local-multilingual-e1',
  ]);
  expect(defaults).toEqual({ chat: 'opus', embeddings: 'local-multilingual-e1' });
  expect(models[0]).toMatchObject({
    endpoints: ['chat', 'completions'],
    strategy: 'latency',
    fallbacks: ['claude/opus', 'local-echo'],
    price: { inputPerMillion: 0.15, outputPerMillion: 0.6 },
    cacheTtlSeconds: 60,
    ownedBy: 'us',
    description: 'small',
    targets: [
      { model: 'gpt', weight: 3, upstream: { name: 'main' } },
      {
        model: 'mini',
        weight: 0,
        upstream: { name: 'azure', kind: 'azure', apiVersion: '2024-10-21', passOrganization: true },
      },
    ],
  });
  expect(models[0]?.targets[0]?.upstream).toEqual({
    name: 'main',
    kind: 'openai',
    baseUrl: 'https://models.example/v1',
    apiKey: 'sk-main',
    apiVersion: undefined,
    retries: 0,
    embeddingInputsMax: 7,
    streamUsage: false,
    passOrganization: false,
    headers: { 'x-team': 'blue', 'x-key': 'k-sk-main' },
    timeoutsMs: { connect: 1, first_byte: 2, idle: 3, total: 4, reader: 5 },
    concurrency: { max: 5, queue: 6 },
  });
});

test('defaults that it states are those of requests without a model, and no others', () => {
  const stated = (defaults: object, endpoints = ['chat', 'completions', 'images', 'embeddings']) =>
    parse(
      JSON.stringify({
        upstreams: { u: { base_url: 'http://u.example' } },
        models: { m: { endpoints, targets: [{ upstream: 'u', model: 'm' }] } },
        defaults,
      }),
    ).statedDefaults;
  expect(stated({})).toEqual({});
  expect(stated({ images: 'm', embeddings: 'm', completions: 'm' })).toEqual({
    images: 'm',
    embeddings: 'm',
    completions: 'm',
  });
  // A model of both answers both, unless another one is stated.
  expect(stated({ chat: 'm' })).toEqual({ chat: 'm', completions: 'm' });
  expect(stated({ chat: 'm', completions: 'local-echo' })).toEqual({ chat: 'm', completions: 'local-echo' });
  expect(stated({ chat: 'm' }, ['chat'])).toEqual({ chat: 'm' });
  for (const endpoint of ['completions', 'images', 'embeddings'])
    expect(() => stated({ [endpoint]: 'm' }, ['chat'])).toThrow(
      `defaults.${endpoint} names the model m, which cannot`,
    );
});

test('what it leaves out has defaults', () => {
  const { models, defaults } = parse(
    'upstreams: {u: {base_url: "http://u"}}\nmodels: {m: {targets: [{upstream: u, model: x}]}}',
  );
  expect(models.map(({ id }) => id)).toEqual(['m', 'local-multilingual-e1']);
  expect(defaults).toEqual({ chat: 'm', embeddings: 'local-multilingual-e1' });
  expect(models[0]).toMatchObject({
    endpoints: ['chat', 'completions'],
    strategy: 'weighted',
    fallbacks: [],
    cacheTtlSeconds: 0,
    targets: [
      {
        weight: 1,
        upstream: {
          kind: 'openai',
          retries: 2,
          headers: {},
          streamUsage: true,
          passOrganization: false,
          timeoutsMs: { connect: 5000, idle: 300_000, total: 600_000, reader: 120_000 },
        },
      },
    ],
  });
  expect(models[0]?.price).toBeUndefined();
});

test('JSON is YAML', () => {
  expect(
    parse(JSON.stringify({ models: { m: { targets: [{ model: 'local-echo' }] } } })).models,
  ).toHaveLength(2);
});

test('what is said once may be named again', () => {
  const { models } = parse(`
upstreams:
  a: {base_url: "http://a", timeout_ms: &patient {total: 5}}
  b: {base_url: "http://b", timeout_ms: *patient}
models:
  m: {targets: [{upstream: b, model: x}]}
`);
  expect(models[0]?.targets[0]?.upstream?.timeoutsMs.total).toBe(5);
});

describe('a mistake is told with its line', () => {
  /** Each changes one line of the good file. */
  const changes: [from: string, to: string, mistake: RegExp][] = [
    [
      'https://models.example/v1/',
      'models.example',
      /^line 4: upstreams\.main\.base_url must be an http or https URL/,
    ],
    ['https://models.example/v1/', 'ftp://models.example', /^line 4: .*must be an http/],
    ['https://models.example/v1/', 'https://u:p@models.example', /^line 4: .*without user/],
    ['https://models.example/v1/', 'https://:p@models.example', /^line 4: .*without user/],
    ['https://models.example/v1/', 'https://models.example/v1?a=b', /^line 4: .*query/],
    ['https://models.example/v1/', 'https://models.example/v1?', /^line 4: .*query/],
    ['https://models.example/v1/', '""', /^line 4: .*must be a text/],
    ['https://models.example/v1/', '[a]', /^line 4: .*must be a text/],
    ['    base_url: https://models.example/v1/\n', '', /^line 4: upstreams\.main needs a base_url/],
    [
      '${MAIN_API_KEY}\n',
      '${NOBODY}\n',
      /^line 5: upstreams\.main\.api_key names the variable NOBODY, which is not set/,
    ],
    ['${MAIN_API_KEY}\n', '${LINES}\n', /^line 5: upstreams\.main\.api_key must be a single line/],
    ['${MAIN_API_KEY}\n', '5\n', /^line 5: upstreams\.main\.api_key must be a text/],
    ['X-Team: blue', '"X Team": blue', /^line 6: upstreams\.main\.headers\.X Team is no header/],
    ['X-Team: blue', 'X-Team: "a\\nb"', /^line 6: .*is no header/],
    ['X-Team: blue', 'X-Team: 5', /^line 6: .*must be a text/],
    ['connect: 1,', 'connect: 0,', /^line 7: upstreams\.main\.timeout_ms\.connect must be an integer from 1/],
    ['connect: 1,', 'connect: 1.5,', /^line 7: .*integer/],
    ['connect: 1,', 'connect: .nan,', /^line 7: .*integer/],
    ['connect: 1,', 'connect: .inf,', /^line 7: .*integer/],
    ['connect: 1,', 'connect: 1s,', /^line 7: .*integer/],
    [
      'connect: 1,',
      'conect: 1,',
      /^line 7: .*conect is unknown here; known: connect, first_byte, idle, total, reader/,
    ],
    ['retries: 0', 'retries: -1', /^line 8: .*from 0 to 10/],
    ['retries: 0', 'retries: 11', /^line 8: .*from 0 to 10/],
    ['retries: 0', 'retries:', /^line 8: .*from 0 to 10/],
    ['{max: 5, queue: 6}', '{max: 0}', /^line 9: upstreams\.main\.concurrency\.max/],
    ['{max: 5, queue: 6}', '5', /^line 9: upstreams\.main\.concurrency must be a mapping/],
    ['embedding_inputs_max: 7', 'embedding_inputs_max: 0', /^line 10: /],
    ['stream_usage: false', 'stream_usage: "no"', /^line 11: .*must be true or false/],
    ['stream_usage: false', 'stream_usages: false', /^line 11: .*stream_usages is unknown here/],
    ['pass_organization: true', 'pass_organization: 1', /^line 13: .*must be true or false/],
    [
      'kind: anthropic',
      'kind: claude',
      /^line 12: upstreams\.claude\.kind must be one of openai, azure, anthropic/,
    ],
    [', api_version: 2024-10-21', '', /^line 13: upstreams\.azure needs an api_version/],
    ['models:\n', 'model:\n', /^line 1[45]: model is unknown here; known: upstreams, models, defaults/],
    [
      '[chat, completions]\n',
      '[chat, talk]\n',
      /^line 16: models\.gpt-4o-mini\.endpoints\[1\] must be one of/,
    ],
    ['[chat, completions]\n', 'chat\n', /^line 16: .*must be a list/],
    ['strategy: latency', 'strategy: random', /^line 17: .*must be one of weighted, latency/],
    [
      '{upstream: main, model: gpt,',
      '{upstream: mine, model: gpt,',
      /^line 18: .*names the upstream mine, which is not in the file/,
    ],
    [
      '{upstream: main, model: gpt,',
      '{upstream: main,',
      /^line 18: models\.gpt-4o-mini\.targets\[0\] needs a model/,
    ],
    ['{upstream: main, model: gpt,', '{model: gpt,', /^line 18: .*needs an upstream/],
    ['weight: 3', 'weight: -3', /^line 18: .*weight must be a number from 0/],
    [
      '[{upstream: main, model: gpt, weight: 3}, {upstream: azure, model: mini, weight: 0}]',
      '[]',
      /^line 18: .*must name at least one/,
    ],
    [
      'fallbacks: [claude/opus,',
      'fallbacks: [nobody,',
      /^line 19: models\.gpt-4o-mini\.fallbacks\[0\] names the model nobody, which is not in the file/,
    ],
    [
      'fallbacks: [claude/opus,',
      'fallbacks: [opus,',
      /^line 19: .*names the model opus, which cannot do completions/,
    ],
    [
      'fallbacks: [claude/opus,',
      'fallbacks: [local-multilingual-e1,',
      /^line 19: .*cannot do chat, completions/,
    ],
    ['fallbacks: [claude/opus,', 'fallbacks: [gpt-4o-mini,', /^line 19: .*names the model itself/],
    ['input_per_million: 0.15', 'input_per_million: -1', /^line 20: .*from 0/],
    ['input_per_million: 0.15', 'input: 1', /^line 20: .*input is unknown here/],
    ['ttl_seconds: 60', 'ttl_seconds: -1', /^line 21: .*from 0/],
    [
      '  claude/opus: {',
      '  "claude opus": {',
      /^line 24: models\.claude opus must have a name of 1 to 256 visible/,
    ],
    ['  claude/opus: {', '  gpt-4o-mini: {', /^line 24: Map keys must be unique/],
    [
      'endpoints: [chat], targets: [{upstream: claude',
      'endpoints: [chat, images], targets: [{upstream: claude',
      /^line 25: .*is of kind anthropic, which cannot do images/,
    ],
    [
      '{endpoints: [images], targets: [{upstream: main, model: p}]}',
      '',
      /^line 26: models\.pictures must be a mapping/,
    ],
    [
      '{endpoints: [images], targets: [{upstream: main, model: p}]}',
      '{endpoints: [images]}',
      /^line 26: models\.pictures needs targets/,
    ],
    ['{endpoints: [images]', '{endpoints: [images', /^line 2[67]: /],
    ['chat: opus', 'chat: nobody', /^line 27: defaults\.chat names the model nobody/],
    [
      'chat: opus',
      'chat: pictures',
      /^line 27: defaults\.chat names the model pictures, which cannot do chat/,
    ],
    ['embeddings: local-multilingual-e1', 'embeddings: opus', /^line 27: .*cannot do embeddings/],
    ['defaults: {', 'defaults: [', /^line 2[78]: /],
  ];
  for (const [from, to, mistake] of changes)
    test(`${from.trim()} → ${to.trim()}`.replaceAll('\n', '⏎'), () => {
      expect(GOOD).toContain(from);
      expect(() => parse(GOOD.replace(from, () => to))).toThrow(mistake);
    });

  for (const text of [
    '',
    '5',
    '[]',
    'null',
    '---\n',
    'a: 1\n---\nb: 2',
    '\tmodels: {}',
    '\0',
    '{',
    'models: &a {m: *a}',
  ])
    test(`no mapping: ${JSON.stringify(text)}`, () => {
      expect(() => parse(text)).toThrow(/^line \d+: .+$/);
    });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: the file names variables so.
