// Anthropic's Messages API.

import type { Adapter } from '../adapter.ts';
import { toOpenAiError } from './error.ts';
import { toMessagesRequest } from './request.ts';
import { readUsage, toChatCompletion } from './response.ts';
import { createStreamTranslation } from './stream.ts';

const API_VERSION = '2023-06-01';

export const anthropic: Adapter = {
  endpoints: ['chat'],
  target: ({ baseUrl, apiKey, apiVersion = API_VERSION }) => ({
    // As with Anthropic's own SDKs the base URL has no `/v1`; OpenAI's habit of adding it is understood.
    url: `${baseUrl.replace(/\/v1$/, '')}/v1/messages`,
    headers: { 'anthropic-version': apiVersion, ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
  }),
  translation: {
    request: toMessagesRequest,
    response: toChatCompletion,
    usage: readUsage,
    stream: createStreamTranslation,
    error: toOpenAiError,
  },
};
