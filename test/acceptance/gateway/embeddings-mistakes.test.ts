// What is wrong with a request for embeddings: on the workspace's route a 422 of the interface, whoever finds it; on those
// of OpenAI's API an error in its shape.

import { describe, expect, test } from 'bun:test';
import { startGateway } from '../../support/gateway.ts';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { type Answer, bodyOf, createCaller } from '../support/caller.ts';
import { expectOpenAiError } from './setting.ts';

const gateway = await shared(
  startGateway((url) => {
    const behind = (model: string) => ({ endpoints: ['embeddings'], targets: [{ upstream: 'mock', model }] });
    return {
      upstreams: {
        mock: { base_url: `${url}/v1`, retries: 0 },
        narrow: { base_url: `${url}/v1`, retries: 0, embedding_inputs_max: 1 },
      },
      models: {
        embed: behind('ok'),
        narrow: { endpoints: ['embeddings'], targets: [{ upstream: 'narrow', model: 'ok+key=narrow' }] },
        strict: behind('status-400'),
        odd: behind('status-422'),
        busy: behind('status-429'),
      },
    };
  }),
);

const post = (path: string, body: string): Promise<Answer> =>
  createCaller(gateway.url)('POST', path, {
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: new TextEncoder().encode(body),
  });
const ask = (body: object) => post(`/${WORKSPACE}/v1/embeddings`, JSON.stringify(body));

type Entry = { type: string; loc: (string | number)[]; msg: string; input: unknown; ctx?: object };
const entriesOf = (answer: Answer): Entry[] => bodyOf<{ detail: Entry[] }>(answer, 422).detail;

const LOCAL = 'local-multilingual-e1';

describe('on the workspace’s route every mistake is a 422', () => {
  const FORMATS = "'float' or 'base64'";
  const ctx = { field_type: 'List', min_length: 1, actual_length: 0 };
  const msg = 'List should have at least 1 item after validation, not 0';
  const cases: [body: object, entry: object][] = [
    [{ input: [] }, { type: 'too_short', loc: ['body', 'input'], msg, input: [], ctx }],
    [
      { input: [], model: 'embed' },
      { type: 'too_short', loc: ['body', 'input'], msg, input: [], ctx },
    ],
    [
      { input: ['a'], encoding_format: 'hex' },
      {
        type: 'enum',
        loc: ['body', 'encoding_format'],
        msg: `Input should be ${FORMATS}`,
        input: 'hex',
        ctx: { expected: FORMATS },
      },
    ],
    [
      { input: ['a'], encoding_format: 5 },
      { type: 'enum', loc: ['body', 'encoding_format'], input: 5 },
    ],
    [
      { input: ['a'], stream: 5 },
      { type: 'value_error', loc: ['body', 'stream'] },
    ],
    [
      { input: ['a'], dimensions: 'many' },
      { type: 'int_parsing', loc: ['body', 'dimensions'] },
    ],
    [
      { input: ['a'], dimensions: 0 },
      { type: 'greater_than_equal', loc: ['body', 'dimensions'], ctx: { ge: 1 } },
    ],
    [
      { input: ['a'], model: LOCAL, dimensions: 256 },
      {
        type: 'value_error',
        loc: ['body', 'dimensions'],
        msg: expect.stringMatching(/^Value error, .*384/),
        input: 256,
      },
    ],
    [
      { input: ['a'], model: 'nobody' },
      { type: 'enum', loc: ['body', 'model'], input: 'nobody' },
    ],
    [
      { input: ['a'], model: null },
      { type: 'enum', loc: ['body', 'model'], input: null },
    ],
  ];
  for (const [body, entry] of cases)
    test(JSON.stringify(body), async () =>
      expect(entriesOf(await ask(body))).toEqual([expect.objectContaining(entry)]),
    );

  test('several are told at once', async () => {
    const entries = entriesOf(await ask({ input: [], model: 'nobody', encoding_format: 'hex' }));
    expect(entries.map(({ loc }) => loc[1])).toEqual(['input', 'encoding_format', 'model']);
  });

  for (const [body, type] of [
    ['', 'missing'],
    ['{', 'json_invalid'],
    ['{"input":["a"],}', 'json_invalid'],
    ['[]', 'model_attributes_type'],
  ] as const)
    test(`malformed: ${JSON.stringify(body)}`, async () => {
      expect(entriesOf(await post(`/${WORKSPACE}/v1/embeddings`, body))[0]?.type).toBe(type);
    });

  for (const model of ['strict', 'odd'])
    test(`also what an upstream refuses: ${model}`, async () => {
      const [entry] = entriesOf(await ask({ input: ['a'], model }));
      expect(entry).toMatchObject({ type: 'value_error', loc: expect.arrayContaining(['body']) });
      expect(entry?.msg).toMatch(/^Value error, .*mock says/);
    });

  test('but not what is no mistake of the caller', async () => {
    expectOpenAiError(await ask({ input: ['a'], model: 'busy' }), 429);
  });

  test('null stands for absent, and what is right is answered', async () => {
    const answer = await ask({ input: ['a'], model: LOCAL, encoding_format: null, dimensions: 384 });
    expect(bodyOf<{ data: { embedding: number[] }[] }>(answer, 200).data[0]?.embedding).toHaveLength(384);
  });
});

describe('on the routes of OpenAI’s API it is told in its shape', () => {
  const cases: [body: object, param: string, message: RegExp][] = [
    [{ input: [] }, 'input', /at least one text/],
    [{}, 'input', /a text or a list of texts/],
    [{ input: [1, 2] }, 'input', /no tokens/],
    [{ input: 'a', dimensions: 256 }, 'dimensions', /384/],
    [{ input: 'a', encoding_format: 'hex' }, 'encoding_format', /float or base64/],
  ];
  test('more texts than a request may hold', async () => {
    for (const path of ['/v1/embeddings', '/embeddings']) {
      for (const model of [LOCAL, 'embed', 'narrow']) {
        const body = JSON.stringify({ model, input: Array(4100).fill('a') });
        expect(expectOpenAiError(await post(path, body), 400)).toMatchObject({
          param: 'input',
          message: "'input' may hold 2048 texts at most",
        });
      }
    }
  });

  for (const [body, param, message] of cases)
    test(JSON.stringify(body), async () => {
      for (const path of ['/v1/embeddings', '/embeddings']) {
        const error = expectOpenAiError(await post(path, JSON.stringify({ model: LOCAL, ...body })), 400);
        expect(error).toMatchObject({ param, message: expect.stringMatching(message) });
      }
    });
});
