// Which URLs are OpenAI's API, so that what there is none of is said in its shape. The documents' paths begin with /v1
// too, there followed by a workspace, whose name is never the first segment of an operation of ours.

import type { Operation } from './operation.ts';

/** First segments of OpenAI's API, and of those that follow it, which no operation of ours has. */
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
  /** It begins as operations of ours do that answer in OpenAI's shape: no other operation is meant. */
  own(url: string): boolean;
  /** As `own`, or of a part of OpenAI's API that there is not: another operation may be meant. */
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
