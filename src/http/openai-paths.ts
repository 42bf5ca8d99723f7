// The URLs of OpenAI's API, so that its operations that this service lacks are refused in OpenAI's error shape. Paths of
// documents also begin with /v1, followed by a workspace; a workspace cannot have the name of a first segment here.

import type { Operation } from './routes.ts';

/** First segments of paths of OpenAI's API, and of compatible APIs, that no operation of this service has. */
const OTHERS = (
  'assistants audio batches containers conversations evals files fine_tuning messages moderations organization realtime ' +
  'rerank responses threads uploads vector_stores videos'
).split(' ');

export type OpenAiPaths = ReturnType<typeof createOpenAiPaths>;

export function createOpenAiPaths(operations: readonly Operation[]) {
  const own = operations
    .filter(({ errorShape, credential }) => errorShape === 'openai' && credential !== 'portal')
    .map(({ path }) => /^(?:\/v1)?\/(\w+)/.exec(path)?.[1])
    .filter((name) => name !== undefined);
  return {
    /** The path begins as one of our operations in OpenAI's shape does: it cannot be an operation of another area. */
    own: begins(own),
    /** As `own`, or the path begins as a part of OpenAI's API that we lack: it may still be an operation of another area. */
    any: begins([...own, ...OTHERS]),
  };
}

/** Fits the URLs whose path begins with one of the names; none without names. */
const begins = (names: readonly string[]): RegExp =>
  new RegExp(`^(?:[a-z]+://[^/]*)?(?:/v1)?/(?:${[...new Set(names)].join('|') || '[]'})(?:[/?]|$)`);
