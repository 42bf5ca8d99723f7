// The errors of upstreams: recognised in any shape, also in a 2xx, and told in OpenAI's shape without the upstream's secrets.

import { isObject, type JsonObject, parseJson } from '../core/json.ts';
import { type Endpoint, isText } from './adapters/adapter.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { StreamEvent } from './events.ts';
import { ERROR_BYTES_MAX } from './limits.ts';
import { redactValue } from './redaction.ts';

/** `explain`: for protocols other than OpenAI's. */
export type Protocol = {
  spec: UpstreamSpec | undefined;
  explain: ((status: number, answer: unknown) => object) | undefined;
};

export type UpstreamError = {
  /** In OpenAI's shape. */
  error: object;
  /** Whether the upstream gave a reason. */
  hasReason: boolean;
  /** `credentials`: the upstream refuses the service's own key. `request`: the caller's request is at fault. */
  blames: 'credentials' | 'quota' | 'request' | undefined;
};

export const CREDENTIALS_REFUSED = "The upstream refused the service's own credentials";

/** Members in which servers put their sentence, the most telling first. */
const SENTENCES = [
  'message',
  'msg',
  'error',
  'detail',
  'errors',
  'error_description',
  'reason',
  'title',
  'choices',
];
const SENTENCE_DEPTH_MAX = 5;
const SENTENCES_MAX = 5;
const SENTENCE_LENGTH_MAX = 2000;

/** The best sentence in an error of any shape. */
function sentenceOf(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.slice(0, SENTENCE_LENGTH_MAX);
  if (depth === SENTENCE_DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    const found = value.slice(0, SENTENCES_MAX).map((each) => sentenceOf(each, depth + 1));
    const sentences = found.filter((each) => each !== undefined);
    return sentences.length === 0 ? undefined : sentences.join('; ');
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
  const parts = loc.filter((part) => part !== 'body' && ['string', 'number'].includes(typeof part));
  return parts.length === 0 ? undefined : parts.join('.');
}

/** The object with the details of an error; empty where there is none. */
function detailsOf(answer: unknown): JsonObject {
  const first: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(first)) return {};
  if (isObject(first['error'])) return first['error'];
  const place =
    Array.isArray(first['detail']) && isObject(first['detail'][0]) ? first['detail'][0]['loc'] : null;
  const { type, param, code } = first;
  return {
    ...(typeof type === 'string' && type !== 'error' && { type }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    param: typeof param === 'string' ? param : (toPlace(place) ?? null),
  };
}

const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 429]);

const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !TEMPORARY.has(status);

/** The error in an answer of any shape, which may be a text. */
function toUpstreamError(answer: unknown, status: number, { spec, explain }: Protocol): UpstreamError {
  const shown = spec === undefined ? answer : redactValue(answer, spec);
  const sentence = sentenceOf(shown);
  const details = explain === undefined ? detailsOf(shown) : (explain(status, shown) as JsonObject);
  const message = sentence ?? `The upstream answered ${status}`;
  const error: JsonObject = {
    message,
    type: isRefusal(status) ? 'invalid_request_error' : 'upstream_error',
    param: null,
    code: null,
    ...details,
  };
  if (typeof error['message'] !== 'string' || error['message'] === '') error['message'] = message;
  const blames = blameOf(error, status);
  return {
    error: blames === 'credentials' ? CREDENTIALS_ERROR : error,
    hasReason: sentence !== undefined,
    blames,
  };
}

const CREDENTIALS_ERROR = {
  message: CREDENTIALS_REFUSED,
  type: 'upstream_error',
  param: null,
  code: 'upstream_credentials',
};

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
  if (CREDENTIALS.has(status) || CREDENTIALS.has(number) || CREDENTIALS.has(code) || CREDENTIALS.has(type))
    return 'credentials';
  if (typeof message === 'string' && KEY_REFUSED.test(message)) return 'credentials';
  if (code === 'insufficient_quota' || type === 'insufficient_quota') return 'quota';
  return REQUEST.has(code) || REQUEST.has(type) || isRefusal(number) ? 'request' : undefined;
}

const PAGE = /^\s*<(?:!doctype|html|head|\?xml)\b/i;
const TITLE = /<title[^>]*>([^<]*)<\/title>/i;

/** The error in the body of an answer, which may be anything: JSON of any shape, a text, a page, or nothing. */
export function readError(bytes: Uint8Array, status: number, protocol: Protocol): UpstreamError {
  const isLarge = bytes.length > ERROR_BYTES_MAX;
  const text = isLarge ? '' : Buffer.from(bytes).toString();
  try {
    return toUpstreamError(parseJson(text), status, protocol);
  } catch {
    // The page of a proxy has its reason in its title.
    const reason = PAGE.test(text) ? TITLE.exec(text)?.[1] : text;
    return toUpstreamError(reason ?? '', status, { ...protocol, explain: undefined });
  }
}

const isTrue = (error: unknown): boolean =>
  typeof error === 'object' && error !== null ? Object.keys(error).length > 0 : Boolean(error);

export const isErrorObject = ({ error, object, type }: JsonObject): boolean =>
  isTrue(error) || object === 'error' || type === 'error';

/** Whether the JSON of a 2xx tells of a failure, or has nothing of an answer. */
export function isFailure(answer: JsonObject, endpoint: Endpoint): boolean {
  if (isErrorObject(answer)) return true;
  const parts = answer[isText(endpoint) ? 'choices' : 'data'];
  return (
    !Array.isArray(parts) ||
    (parts.length > 0 && parts.every((each) => isObject(each) && isTrue(each['error'])))
  );
}

/** Whether an event of a stream tells of a failure. Only the first one may also be no part of an answer. */
export function isFailedEvent({ name, chunk }: StreamEvent, isFirst: boolean): boolean {
  if (name === 'error') return true;
  // Data that is not JSON passes as it came.
  if (chunk === undefined) return false;
  if (isErrorObject(chunk)) return true;
  const { choices, type, usage } = chunk;
  if (!isFirst || type !== undefined) return false;
  return (
    choices === null || (choices === undefined && usage === undefined && sentenceOf(chunk) !== undefined)
  );
}

export const readEventError = ({ data }: StreamEvent, spec: UpstreamSpec | undefined): UpstreamError =>
  readError(Buffer.from(data), 502, { spec, explain: undefined });
