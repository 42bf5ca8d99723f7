// Azure OpenAI: OpenAI's bodies, with the deployment in the path.

import type { Adapter } from './adapter.ts';
import { OPENAI_PATHS } from './openai.ts';

/** The oldest that has structured outputs and is generally available; the models file may name another. */
const API_VERSION = '2024-10-21';

export const azure: Adapter = {
  endpoints: ['chat', 'completions', 'embeddings', 'images'],
  target({ endpoint, baseUrl, apiKey, apiVersion = API_VERSION, model }) {
    // Portals show the resource with `/openai` and without.
    const resource = baseUrl.replace(/\/openai$/, '');
    const deployment = `/openai/deployments/${encodeURIComponent(model)}`;
    const query = `?api-version=${encodeURIComponent(apiVersion)}`;
    return {
      url: `${resource}${deployment}${OPENAI_PATHS[endpoint]}${query}`,
      headers: apiKey === undefined ? {} : { 'api-key': apiKey },
    };
  },
};
