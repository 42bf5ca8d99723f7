// OpenAI, and other providers with its protocol.

import type { Endpoint } from '../request.ts';
import type { Adapter } from './adapter.ts';

/** Below the base URL. */
export const OPENAI_PATHS: Record<Endpoint, string> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  images: '/images/generations',
};

export const openai: Adapter = {
  endpoints: ['chat', 'completions', 'embeddings', 'images'],
  target: ({ endpoint, baseUrl, apiKey }) => ({
    url: `${baseUrl}${OPENAI_PATHS[endpoint]}`,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  }),
};
