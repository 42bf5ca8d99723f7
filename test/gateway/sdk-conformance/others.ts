// Completions, embeddings, images and models through the official SDK, and what passes through untouched.

import { expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { NotFoundError } from 'openai';
import { vectorOf } from '../../support/mock-upstream/openai-others.ts';
import { HELLO } from './chat.ts';
import { clientOf, type Place } from './place.ts';

const TEXTS = ['eins', 'zwei', 'drei'];

export function otherSuites(here: () => Place): void {
  const client = (): OpenAI => clientOf(here());
  const model = (name: string): string => here().model(name);

  test('completions, whole and streamed', async () => {
    const asked = { model: model('ok'), prompt: 'once upon a time' };
    const completion = await client().completions.create(asked);
    expect(completion).toMatchObject({ object: 'text_completion', choices: [{ finish_reason: 'stop' }] });
    expect(completion.choices[0]?.text).toBe('You said: once upon a time');
    let text = '';
    for await (const chunk of await client().completions.create({ ...asked, stream: true }))
      text += chunk.choices[0]?.text ?? '';
    expect(text).toBe('You said: once upon a time');
  });

  test('embeddings are the same in base64, which the SDK asks for, and as numbers', async () => {
    const asked = { model: model('embed'), input: TEXTS };
    const encoded = await client().embeddings.create(asked);
    const plain = await client().embeddings.create({ ...asked, encoding_format: 'float' });
    const expected = TEXTS.map((text) => vectorOf(text, 8));
    for (const { object, data, usage } of [encoded, plain]) {
      expect(object).toBe('list');
      expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
      expect(data.map(({ embedding }) => embedding)).toEqual(expected);
      expect(usage.total_tokens).toBe(3);
    }
  });

  test('embeddings of one text, of tokens, and with fewer dimensions', async () => {
    const first = async (input: string | number[], more: object = {}): Promise<number[] | undefined> =>
      (await client().embeddings.create({ model: model('embed'), input, ...more })).data[0]?.embedding;
    expect(await first('eins')).toEqual(vectorOf('eins', 8));
    expect(await first([1, 2, 3])).toEqual(vectorOf([1, 2, 3], 8));
    expect(await first('eins', { dimensions: 3 })).toEqual(vectorOf('eins', 3));
  });

  test('images, as data and as URLs', async () => {
    const data = await client().images.generate({ model: model('ok'), prompt: 'a cat', n: 2 });
    expect(data.created).toBeGreaterThan(0);
    expect(data.data?.map(({ b64_json }) => typeof b64_json)).toEqual(['string', 'string']);
    const urls = await client().images.generate({
      model: model('ok'),
      prompt: 'a cat',
      response_format: 'url',
    });
    expect(urls.data?.[0]?.url).toStartWith('https://');
  });

  test('unknown fields, and every digit of a number, pass through', async () => {
    const key = crypto.randomUUID();
    const { baseUrl, key: apiKey, mock } = here();
    const body = `{"model":"${model('ok')}","seed":9007199254740993,"x_unknown":{"a":[1.1,0.12345678901234567890,null]},"mock":{"key":"${key}"},"messages":[{"role":"user","content":"hé 😀"}]}`;
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body,
    });
    expect(response.status).toBe(200);
    const seen = (await mock.state(key)).last.at(-1)?.body ?? '';
    const modelThere = (JSON.parse(seen) as { model: string }).model;
    expect(seen).toBe(body.replace(`"model":"${model('ok')}"`, `"model":"${modelThere}"`));
  });

  test("an organisation's and a project's headers arrive, the caller's own key does not", async () => {
    const key = crypto.randomUUID();
    const named = clientOf(here(), { organization: 'org-1', project: 'proj-1' });
    const asked = { model: model('ok'), messages: HELLO, mock: { key } };
    await named.chat.completions.create(asked);
    const headers = (await here().mock.state(key)).last[0]?.headers ?? {};
    expect(headers).toMatchObject({ 'openai-organization': 'org-1', 'openai-project': 'proj-1' });
    if (here().key !== 'any') expect(JSON.stringify(headers)).not.toContain(here().key);
  });
}

export function modelsSuite(here: () => Place): void {
  test('models are listed', async () => {
    const models: OpenAI.Model[] = [];
    for await (const model of clientOf(here()).models.list()) models.push(model);
    expect(models.map(({ id }) => id)).toContain(here().model('ok'));
    for (const model of models) {
      expect(model).toMatchObject({
        object: 'model',
        created: expect.any(Number),
        owned_by: expect.any(String),
      });
    }
  });

  test('one model is found, and an unknown one is not', async () => {
    const { models } = clientOf(here());
    expect(await models.retrieve(here().model('ok'))).toMatchObject({
      id: here().model('ok'),
      object: 'model',
    });
    const error = await models.retrieve('no-such-model').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
  });
}
