// What the gateway alone does: keys, and the routes that it adds or has twice.

import { expect, test } from 'bun:test';
import { AuthenticationError, PermissionDeniedError } from 'openai';
import { vectorOf } from '../../support/mock-upstream/openai-others.ts';
import { WORKSPACE } from '../../support/service.ts';
import { HELLO } from './chat.ts';
import { thrownBy } from './errors.ts';
import { clientOf, type Place } from './place.ts';

async function createKey({ baseUrl, key }: Place, scopes: string[]): Promise<string> {
  const response = await fetch(`${new URL(baseUrl).origin}/admin/api/workspaces/${WORKSPACE}/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'sdk', scopes, user_email: 'sdk@example.com' }),
  });
  return ((await response.json()) as { key: string }).key;
}

export function keySuite(here: () => Place): void {
  test('a wrong key is an AuthenticationError', async () => {
    const stranger = clientOf({ ...here(), key: 'sk-wrong' });
    const error = await thrownBy(stranger.chat.completions.create({ model: 'ok', messages: HELLO }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect((error as AuthenticationError).code).toBe('invalid_api_key');
  });

  test('a key without the scope is a PermissionDeniedError', async () => {
    const reader = clientOf({ ...here(), key: await createKey(here(), ['documents:read']) });
    const error = await thrownBy(reader.chat.completions.create({ model: 'ok', messages: HELLO }));
    expect(error).toBeInstanceOf(PermissionDeniedError);
  });

  test('a key with the scope alone is enough', async () => {
    const client = clientOf({ ...here(), key: await createKey(here(), ['models']) });
    const completion = await client.chat.completions.create({ model: 'ok', messages: HELLO });
    expect(completion.choices).toHaveLength(1);
  });

  test('without /v1 in the base URL everything is the same', async () => {
    const client = clientOf({ ...here(), baseUrl: new URL(here().baseUrl).origin });
    expect((await client.chat.completions.create({ model: 'ok', messages: HELLO })).choices).toHaveLength(1);
    expect((await client.completions.create({ model: 'ok', prompt: 'a' })).choices).toHaveLength(1);
    expect((await client.images.generate({ model: 'ok', prompt: 'a cat' })).data).toHaveLength(1);
    expect((await client.embeddings.create({ model: 'embed', input: 'a' })).data).toHaveLength(1);
    expect((await client.models.retrieve('ok')).id).toBe('ok');
    expect((await client.models.list()).data.length).toBeGreaterThan(3);
  });

  test("embeddings of the workspace's route are the same", async () => {
    const client = clientOf({ ...here(), baseUrl: `${new URL(here().baseUrl).origin}/${WORKSPACE}/v1` });
    const { data, model } = await client.embeddings.create({ model: 'embed', input: ['a', 'b'] });
    expect(data.map(({ embedding }) => embedding)).toEqual([vectorOf('a', 8), vectorOf('b', 8)]);
    expect(model).toBe('embed');
  });
}
