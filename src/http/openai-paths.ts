// Which URLs belong to OpenAI's API, so that an operation of it that we lack is refused in OpenAI's error shape. The documents'
// paths also begin with /v1, followed by a workspace; no workspace may be named as a first segment of the gateway's operations.

import type { Operation } from './operation.ts';

/** First segments of paths of OpenAI's API, and of its imitators, that no operation of ours has. */
const OTHERS = [
  ...[
    'assistants',
    'audio',
    'batches',
    'containers',
    'conversations',
    'evals',
    'files',
    'fine_tuning',
    'messages',
  ],
  ...[
    'moderations',
    'organization',
    'realtime',
    'rerank',
    'responses',
    'threads',
    'uploads',
    'vector_stores',
    'videos',
  ],
];

export type OpenAiPaths = {
  /** The path begins as one of our operations in OpenAI's shape does: it cannot be an operation of another area. */
  own(url: string): boolean;
  /** As `own`, or the path begins as a part of OpenAI's API that we lack: it may still be an operation of another area. */
  any(url: string): boolean;
};

export function createOpenAiPaths(operations: readonly Operation[]): OpenAiPaths {
  const own = operations
    .filter(({ errorShape }) => errorShape === 'openai')
    .map(({ path }) => /^(?:\/v1)?\/(\w+)/.exec(path)?.[1])
    .filter((name) => name !== undefined);
  return { own: begins(own), any: begins([...own, ...OTHERS]) };
}

function begins(names: readonly string[]): (url: string) => boolean {
  const pattern = new RegExp(`^(?:[a-z]+://[^/]*)?(?:/v1)?/(?:${[...new Set(names)].join('|')})(?:[/?]|$)`);
  return names.length === 0 ? () => false : (url) => pattern.test(url);
}
