// What OPENAI_BASE_URL and OPENAI_API_KEY make of the gateway.

import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { toSource } from '../../src/gateway/catalogue/current.ts';

test('time-outs are those that official clients and models that reason need', () => {
  const { openai } = loadConfig({ OPENAI_BASE_URL: 'https://models.example/v1' }).gateway;
  const source = toSource({ modelsFile: undefined, openai, variable: () => undefined });
  expect(source.kind === 'upstream' && source.upstream.timeoutsMs).toMatchObject({
    first_byte: undefined,
    idle: 300_000,
    total: 600_000,
  });
});

test('a key alone is for OpenAI’s own address, and no anonymous caller spends its money', () => {
  const { openai, anonymous } = loadConfig({ OPENAI_API_KEY: 'sk-x' }).gateway;
  expect(openai).toMatchObject({ baseUrl: 'https://api.openai.com/v1', apiKey: 'sk-x' });
  expect(anonymous).toBe(false);
  // A models file may use the variable.
  expect(loadConfig({ OPENAI_API_KEY: 'sk-x', MODELS_CONFIG: 'm.yaml' }).gateway.modelsFile).toEndWith(
    'm.yaml',
  );
});
