import {
  CONCURRENCY_DEFAULTS,
  EMBEDDING_INPUTS_MAX,
  RETRIES_DEFAULT,
  TIMEOUT_DEFAULTS_MS,
} from '../limits.ts';
import type { CatalogueSource } from './current.ts';
import type { ReadVariable } from './file-mistake.ts';

/** Where the settings say that the models come from. */
export function toSource(settings: {
  modelsFile: string | undefined;
  openai:
    | { baseUrl: string; apiKey: string | undefined; timeoutMs?: number; idleTimeoutMs?: number }
    | undefined;
  variable: ReadVariable;
}): CatalogueSource {
  const { modelsFile, openai, variable } = settings;
  if (modelsFile !== undefined) return { kind: 'file', path: modelsFile, variable };
  if (openai === undefined) return { kind: 'built-in' };
  return {
    kind: 'upstream',
    upstream: {
      name: 'openai',
      kind: 'openai',
      baseUrl: openai.baseUrl,
      apiKey: openai.apiKey,
      apiVersion: undefined,
      headers: {},
      timeoutsMs: {
        ...TIMEOUT_DEFAULTS_MS,
        total: openai.timeoutMs ?? TIMEOUT_DEFAULTS_MS.total,
        idle: openai.idleTimeoutMs ?? TIMEOUT_DEFAULTS_MS.idle,
      },
      retries: RETRIES_DEFAULT,
      concurrency: CONCURRENCY_DEFAULTS,
      embeddingInputsMax: EMBEDDING_INPUTS_MAX,
      streamUsage: true,
      passOrganization: false,
    },
  };
}
