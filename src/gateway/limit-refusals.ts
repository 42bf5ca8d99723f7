// The refusals of requests whose key has reached a limit.

import { OpenAiRefusal } from '../http/openai-error.ts';

/** When a running request ends is not known: soon is worth a try. */
export const RESERVED_WAIT_MS = 1000;

export const limited = (
  kind: 'requests' | 'tokens',
  { sentence, waitMs, headers }: { sentence: string; waitMs: number; headers: Record<string, string> },
): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', sentence, {
    type: kind,
    code: 'rate_limit_exceeded',
    headers: { ...headers, 'retry-after-ms': String(Math.ceil(waitMs)) },
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

const QUOTA = { type: 'insufficient_quota', code: 'insufficient_quota' };

export const budgetIsSpent = (): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', 'The budget of the API key for this month is used up', {
    ...QUOTA,
    headers: { 'x-should-retry': 'false' },
  });

export const budgetIsReserved = (): OpenAiRefusal =>
  new OpenAiRefusal(
    'too-many-requests',
    'Requests that are running have reserved the rest of the budget of the API key for this month',
    { ...QUOTA, retryAfterSeconds: RESERVED_WAIT_MS / 1000 },
  );
