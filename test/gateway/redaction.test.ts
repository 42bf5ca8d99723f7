// Errors of upstreams show nothing of the upstream's key, headers and host, however a text writes them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ERROR_BYTES_MAX } from '../../src/gateway/limits.ts';
import { redactValue } from '../../src/gateway/redaction.ts';
import { createClient } from '../acceptance/gateway/client.ts';
import { type RunningGateway, startGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { leastProcessorMs } from '../support/processor-time.ts';

const secrets = {
  apiKey: 'sk-Ab/c+d\\é😀',
  baseUrl: 'https://models.example:8443/v1',
  headers: { authorization: 'Bearer tok-1234', 'x-short': 'abc' },
};
const redact = (value: unknown): unknown => redactValue(value, secrets);

describe('a text', () => {
  const texts = [
    'sk-Ab/c+d\\é😀',
    'SK-AB/c+d\\É😀',
    // As JSON within a text, with slashes and others escaped.
    'sk-Ab\\/c+d\\\\é😀',
    String.raw`\u0073k-\u0041b\u002fc\u002Bd\u005c\u00e9\uD83D\ude00`,
    // As a part of a URL.
    encodeURIComponent('sk-Ab/c+d\\é😀'),
    '%73%6B-Ab%2fc%2Bd%5C%C3%A9%f0%9f%98%80',
    'Bearer tok-1234',
    'tok-1234',
    'models.example:8443',
    'Models.Example',
  ];
  for (const text of texts) {
    test(text, () => {
      expect(redact(`before ${text} after`)).toBe('before [redacted] after');
      expect(redact({ [text]: [text, { a: text }] })).toEqual({
        '[redacted]': ['[redacted]', { a: '[redacted]' }],
      });
    });
  }

  test('without a secret stays as it is, and so do numbers and what is short', () => {
    const value = { a: ['abc', 'tok-123', 'example', 1, null, true, { b: '' }] };
    expect(redact(value)).toEqual(value);
  });

  test('is left alone where there is nothing to hide', () => {
    expect(redactValue('a b', { apiKey: undefined, baseUrl: 'http://u', headers: {} })).toBe('a b');
  });

  test('of a key that ends as an escape begins shows nothing of the escape', () => {
    const keys = {
      'secret%': ['secret%25', 'secret%'],
      'secret\\': [String.raw`secret\u005c`, 'secret\\\\', 'secret%5c'],
      'secret u': [String.raw`secret \u0075`, String.raw`secret \u`, 'secret%20%75', 'secret u'],
    };
    for (const [apiKey, texts] of Object.entries(keys))
      for (const text of texts)
        expect(redactValue(`before ${text} after`, { ...secrets, apiKey })).toBe('before [redacted] after');
  });

  test('of any key, in any mixture of escapes, shows nothing of it', () => {
    const key = fc
      .string({ minLength: 4, maxLength: 20, unit: 'grapheme' })
      .filter((each) => !/[<>]/.test(each));
    const ways: ((character: string) => string)[] = [
      (character) => character,
      (character) => (/[/"\\]/.test(character) ? `\\${character}` : character),
      (character) =>
        character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
      (character) =>
        [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    ];
    fc.assert(
      fc.property(key, fc.array(fc.nat(3), { minLength: 40, maxLength: 40 }), (apiKey, choices) => {
        const text = [...apiKey].map((each, index) => ways[choices[index] ?? 0]?.(each)).join('');
        const hidden = redactValue(`<${text}>`, { ...secrets, apiKey, headers: {} });
        expect(hidden).toBe('<[redacted]>');
      }),
    );
  });
});

test('what is nested more deeply than any error is left out', () => {
  let deep: unknown = 'tok-1234';
  for (let depth = 0; depth < 5000; depth++) deep = [deep];
  expect(JSON.stringify(redact(deep))).toBe(`${'['.repeat(16)}"[redacted]"${']'.repeat(16)}`);
});

test('costs time in proportion to the text', () => {
  const measure = (text: string): number =>
    leastProcessorMs(() => {
      for (let index = 0; index < 5; index++) redact(text);
    });
  for (const piece of ['s', 'sk-Ab/c+d', '\\\\', '%73', String.raw`\u0073k-`]) {
    measure(piece.repeat(10_000));
    const short = measure(piece.repeat(10_000));
    expect(measure(piece.repeat(80_000))).toBeLessThan(8 * short * 5 + 20);
  }
});

describe('over HTTP', () => {
  /** An upstream that quotes its secrets with escapes, as the test asks by the model's name. */
  const escaped = (text: string): string =>
    text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  let host = '';
  const errorText = (): string =>
    `{"error":{"message":"wrong key ${escaped(UPSTREAM_KEY)} at ${escaped(host)}","${escaped(UPSTREAM_KEY)}":1,` +
    `"details":[{"raw":"${JSON.stringify(UPSTREAM_KEY).slice(1, -1)} ${encodeURIComponent(host)}"}]}}`;
  const answers: Record<string, () => Response> = {
    'whole-400': () => new Response(errorText(), { status: 400 }),
    'whole-500': () => new Response(errorText(), { status: 500 }),
    'whole-429': () => new Response(errorText(), { status: 429 }),
    'text-400': () => new Response(`{"error":"${escaped(UPSTREAM_KEY)}"}`, { status: 400 }),
    'stream-first': () => stream(`data: ${errorText()}\n\n`),
    'stream-later': () => stream(`data: {"choices":[]}\n\ndata: ${errorText()}\n\n`),
    'large-400': () =>
      Response.json(
        { error: { message: `${UPSTREAM_KEY} ${'x'.repeat(ERROR_BYTES_MAX)}` } },
        { status: 400 },
      ),
    'large-later': () =>
      stream(
        `data: {"choices":[]}\n\ndata: {"error":{"message":"${UPSTREAM_KEY} ${'x'.repeat(ERROR_BYTES_MAX)}"}}\n\n`,
      ),
  };
  const stream = (text: string): Response =>
    new Response(text, { headers: { 'content-type': 'text/event-stream' } });

  const upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { model } = (await request.json()) as { model: string };
      return answers[model]?.() ?? new Response('', { status: 404 });
    },
  });
  host = `127.0.0.1:${upstream.port}`;

  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway(() => ({
      upstreams: {
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the service puts the variable in.
        odd: { base_url: `http://${host}/v1`, api_key: '${UPSTREAM_KEY}', retries: 0 },
      },
      models: Object.fromEntries(
        Object.keys(answers).map((model) => [model, { targets: [{ upstream: 'odd', model }] }]),
      ),
    }));
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream.stop(true);
  });

  for (const model of Object.keys(answers)) {
    test(`an error with secrets in escapes: ${model}`, async () => {
      const answer = await createClient(gateway).ask(model, { body: { stream: /first|later/.test(model) } });
      const text = await answer.text();
      expect(text).toContain('"error"');
      const json = text.replace(/^(?:data: (?!.*"error").*\n\n)*data: /, '').trim();
      const decoded = JSON.stringify(JSON.parse(json));
      for (const shown of [text, decoded]) {
        expect(shown).not.toContain(UPSTREAM_KEY);
        expect(decodeURIComponent(shown)).not.toContain(host);
      }
      if (model.startsWith('large')) expect(text.length).toBeLessThan(1000);
      else expect(decoded).toContain('[redacted]');
    });
  }
});
