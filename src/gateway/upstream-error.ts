// The errors of upstreams: recognised in any shape, also in a 2xx, and told in OpenAI's shape without the upstream's secrets.

import { isObject, type JsonObject, parseJson } from '../core/json.ts';
import { AttemptFailure, nonsense, upstreamFailed, type WholeAnswer } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { StreamEvent } from './events.ts';
import { ERROR_BYTES_MAX } from './limits.ts';
import { redactValue } from './redaction.ts';
import { passedHeaders } from './upstream-request.ts';

/** `explain`: for protocols other than OpenAI's. */
export type Protocol = {
  spec: UpstreamSpec | undefined;
  explain?: ((status: number, answer: unknown) => object) | undefined;
};

export type UpstreamError = {
  /** In OpenAI's shape. */
  error: object;
  /** Whether the upstream gave a reason. */
  hasReason: boolean;
  /** `credentials`: the upstream refuses the service's own key. `request`: the caller's request is at fault. */
  blames: 'credentials' | 'quota' | 'request' | undefined;
};

const CREDENTIALS_REFUSED = "The upstream refused the service's own credentials";
const CREDENTIALS_ERROR = {
  message: CREDENTIALS_REFUSED,
  type: 'upstream_error',
  param: null,
  code: 'upstream_credentials',
};

/** Members in which servers put their sentence, the most telling first. */
const SENTENCES = 'message msg error detail errors error_description reason title choices'.split(' ');
const SENTENCE_DEPTH_MAX = 5;
const SENTENCES_MAX = 5;
const SENTENCE_LENGTH_MAX = 2000;

/** The best sentence in an error of any shape. */
function sentenceOf(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.slice(0, SENTENCE_LENGTH_MAX);
  if (depth === SENTENCE_DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    const found = value.slice(0, SENTENCES_MAX).map((each) => sentenceOf(each, depth + 1));
    return found.filter((each) => each !== undefined).join('; ') || undefined;
  }
  if (!isObject(value)) return undefined;
  for (const name of SENTENCES) {
    const sentence = sentenceOf(value[name], depth + 1);
    const place = toPlace(value['loc']);
    if (sentence !== undefined) return place === undefined ? sentence : `${place}: ${sentence}`;
  }
  return undefined;
}

/** The place that a validation error names, such as `messages.0.content`. */
function toPlace(loc: unknown): string | undefined {
  if (!Array.isArray(loc)) return undefined;
  return (
    loc.filter((part) => part !== 'body' && ['string', 'number'].includes(typeof part)).join('.') || undefined
  );
}

/** The object with the details of an error; empty where there is none. */
function detailsOf(answer: unknown): JsonObject {
  const first: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(first)) return {};
  if (isObject(first['error'])) return first['error'];
  const { type, param, code, detail } = first;
  const place = Array.isArray(detail) && isObject(detail[0]) ? toPlace(detail[0]['loc']) : undefined;
  return {
    ...(typeof type === 'string' && type !== 'error' && { type }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    param: typeof param === 'string' ? param : (place ?? null),
  };
}

const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 429]);

/** Whether the status blames the request. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !TEMPORARY.has(status);

/** The error in an answer of any shape, which may be a text. */
function toUpstreamError(answer: unknown, status: number, { spec, explain }: Protocol): UpstreamError {
  const shown = spec === undefined ? answer : redactValue(answer, spec);
  const sentence = sentenceOf(shown);
  const details = explain === undefined ? detailsOf(shown) : (explain(status, shown) as JsonObject);
  const message = sentence ?? `The upstream answered ${status}`;
  const type = isRefusal(status) ? 'invalid_request_error' : 'upstream_error';
  const error: JsonObject = { message, type, param: null, code: null, ...details };
  if (typeof error['message'] !== 'string' || error['message'] === '') error['message'] = message;
  const blames = blameOf(error, status);
  return {
    error: blames === 'credentials' ? CREDENTIALS_ERROR : error,
    hasReason: sentence !== undefined,
    blames,
  };
}

const CREDENTIALS: ReadonlySet<unknown> = new Set([401, 403, 'invalid_api_key', 'authentication_error']);
const KEY_REFUSED = /\b(?:incorrect|invalid) api key\b|\bapi key not valid\b/i;
const REQUEST: ReadonlySet<unknown> = new Set([
  'invalid_request_error',
  'context_length_exceeded',
  'content_filter',
  'content_policy_violation',
]);

/** Some upstreams give the status as the code of the error. */
function blameOf({ message, type, code, status: told }: JsonObject, status: number): UpstreamError['blames'] {
  const number = Number(code ?? told ?? status);
  if ([status, number, code, type].some((each) => CREDENTIALS.has(each))) return 'credentials';
  if (typeof message === 'string' && KEY_REFUSED.test(message)) return 'credentials';
  if (code === 'insufficient_quota' || type === 'insufficient_quota') return 'quota';
  return REQUEST.has(code) || REQUEST.has(type) || isRefusal(number) ? 'request' : undefined;
}

const PAGE = /^\s*<(?:!doctype|html|head|\?xml)\b/i;
const TITLE = /<title[^>]*>([^<]*)<\/title>/i;

/** The error in the body of an answer, which may be anything: JSON of any shape, a text, a page, or nothing. */
export function readError(bytes: Uint8Array, status: number, protocol: Protocol): UpstreamError {
  const text = bytes.length > ERROR_BYTES_MAX ? '' : Buffer.from(bytes).toString();
  try {
    return toUpstreamError(parseJson(text), status, protocol);
  } catch {
    // The page of a proxy has its reason in its title.
    const reason = PAGE.test(text) ? TITLE.exec(text)?.[1] : text;
    return toUpstreamError(reason ?? '', status, { spec: protocol.spec });
  }
}

export const readEventError = ({ data }: StreamEvent, spec: UpstreamSpec | undefined): UpstreamError =>
  readError(Buffer.from(data), 502, { spec });

/** The failure that a 2xx tells of. */
export function toldFailure({ error, hasReason, blames }: UpstreamError): AttemptFailure {
  if (!hasReason) return nonsense();
  if (blames === 'credentials') return credentialsRefused();
  return new AttemptFailure(upstreamFailed('The upstream failed'), {
    next: blames === 'quota' ? 'others' : 'same',
    answer: toErrorAnswer(502, {}, error),
    unwell: blames !== 'request',
  });
}

const credentialsRefused = (status?: number): AttemptFailure =>
  new AttemptFailure(upstreamFailed(CREDENTIALS_REFUSED, { code: 'upstream_credentials' }), {
    next: 'none',
    unwell: false,
    status,
  });

/** The failure that a status other than 2xx tells of. */
export function refusedFailure(
  response: Response,
  bytes: Uint8Array,
  protocol: Protocol & { spec: UpstreamSpec },
): AttemptFailure {
  const { headers } = response;
  // No response can have a status beyond 599.
  const status = response.status > 599 ? 502 : response.status;
  if (status < 400) {
    const sentence = 'The upstream redirected the request; its base_url is wrong';
    const refusal = upstreamFailed(sentence, { code: 'upstream_misconfigured' });
    return new AttemptFailure(refusal, { next: 'none', unwell: false, status });
  }
  const { error, hasReason, blames } = readError(bytes, status, protocol);
  if (blames === 'credentials') return credentialsRefused(status);
  const passed = { ...passedHeaders(headers, protocol.spec), 'content-type': 'application/json' };
  const answer = toErrorAnswer(status, passed, error);
  const isFinal = blames === 'quota' || headers.get('x-should-retry') === 'false';
  const refusal = upstreamFailed(
    hasReason ? `The upstream answered ${status}` : `The upstream failed with ${status} and without a reason`,
  );
  if (isRefusal(status)) return new AttemptFailure(refusal, { next: 'none', answer, unwell: false, status });
  return new AttemptFailure(refusal, {
    next: isFinal ? 'others' : 'same',
    answer: hasReason || status < 500 ? answer : undefined,
    status,
    retryAfterMs: readRetryAfter(headers),
    unwell: status >= 500 || status === 429,
  });
}

const toErrorAnswer = (status: number, headers: Record<string, string>, error: object): WholeAnswer => ({
  kind: 'whole',
  status,
  headers,
  bytes: Buffer.from(JSON.stringify({ error })),
  usage: undefined,
});

const NUMBER = /^\d+(?:\.\d+)?$/;

/** Milliseconds; `retry-after-ms` counts before `retry-after`, which is seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const exact = headers.get('retry-after-ms');
  if (exact !== null && NUMBER.test(exact)) return Number(exact);
  const given = headers.get('retry-after');
  if (given === null) return undefined;
  if (NUMBER.test(given)) return Number(given) * 1000;
  const at = Date.parse(given);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
