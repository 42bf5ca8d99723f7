// Where each kind of upstream is asked, and with which headers.

import { describe, expect, test } from 'bun:test';
import { ADAPTERS } from '../../src/gateway/adapters/index.ts';

const REQUEST = {
  endpoint: 'chat',
  baseUrl: 'https://models.example',
  apiKey: 'key',
  apiVersion: undefined,
  model: 'gpt',
} as const;

describe('OpenAI', () => {
  test('is asked below the base URL, with a bearer key', () => {
    expect(ADAPTERS.openai.target({ ...REQUEST, baseUrl: 'https://models.example/v1' })).toEqual({
      url: 'https://models.example/v1/chat/completions',
      headers: { authorization: 'Bearer key' },
    });
    expect(ADAPTERS.openai.target({ ...REQUEST, endpoint: 'images', apiKey: undefined })).toEqual({
      url: 'https://models.example/images/generations',
      headers: {},
    });
  });
});

describe('Azure', () => {
  test('is asked at the deployment, whose name cannot leave its place', () => {
    const request = {
      ...REQUEST,
      endpoint: 'embeddings',
      model: '../my deployment?',
      apiVersion: '2025-01-01',
    } as const;
    expect(ADAPTERS.azure.target(request)).toEqual({
      url: 'https://models.example/openai/deployments/..%2Fmy%20deployment%3F/embeddings?api-version=2025-01-01',
      headers: { 'api-key': 'key' },
    });
  });

  test('is found with and without /openai at the end', () => {
    const plain = ADAPTERS.azure.target(REQUEST).url;
    expect(plain).toMatch(/\/openai\/deployments\/gpt\/chat\/completions\?api-version=\d{4}-\d\d-\d\d$/);
    expect(ADAPTERS.azure.target({ ...REQUEST, baseUrl: 'https://models.example/openai' }).url).toBe(plain);
  });
});

describe('Anthropic', () => {
  test('is found with and without /v1 at the end', () => {
    const target = {
      url: 'https://models.example/v1/messages',
      headers: { 'anthropic-version': '2023-06-01', 'x-api-key': 'key' },
    };
    expect(ADAPTERS.anthropic.target(REQUEST)).toEqual(target);
    expect(ADAPTERS.anthropic.target({ ...REQUEST, baseUrl: 'https://models.example/v1' })).toEqual(target);
  });
});
