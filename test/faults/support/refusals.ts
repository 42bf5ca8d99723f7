// What a refusal looks like while something behind the service is away.

import type { Answer } from '../../acceptance/support/caller.ts';

export type Refusable = Answer;

const INTERNALS =
  /127\.0\.0\.1|localhost|:\/\/|\.ts\b|\bat \w+ \(|node_modules|ECONN|ETIMEDOUT|errno|postgres|minio|S3|AbortError|Timeout/i;

export const isRefusal = ({ status }: Answer): boolean => status === 503;

/** What is affected, in the words of a refusal. */
const CAPABILITIES = { database: /database|API keys/, 'object store': /object store/ } as const;

/** Throws unless it is a 503 that says in one sentence what is affected, when to come back, and nothing else. */
export function expectRefusal(answer: Answer, capability: keyof typeof CAPABILITIES): void {
  const { status, headers, text } = answer;
  const refuse = (reason: string) => new Error(`${status} ${text}: ${reason}`);
  if (status !== 503) throw refuse('not a 503');
  if (!/^[1-9]\d{0,2}$/.test(headers.get('retry-after') ?? '')) throw refuse('no Retry-After');
  const detail = sentenceOf(JSON.parse(text) as Record<string, unknown>);
  if (detail === undefined) throw refuse('not just a sentence, in the shape of a detail or of OpenAI');
  if (!CAPABILITIES[capability].test(detail)) throw refuse(`does not name the ${capability}`);
  if (INTERNALS.test(detail)) throw refuse('tells internals');
}

/** An operation refuses in one of both shapes; which one is its own, the description says. */
function sentenceOf({ detail, error, ...rest }: Record<string, unknown>): string | undefined {
  if (Object.keys(rest).length > 0) return undefined;
  if (typeof detail === 'string' && error === undefined) return detail;
  const { message, ...classified } = (error ?? {}) as Record<string, unknown>;
  const expected = { type: 'server_error', param: null, code: 'service_unavailable' };
  if (typeof message !== 'string' || detail !== undefined) return undefined;
  return Bun.deepEquals(classified, expected, true) ? message : undefined;
}
