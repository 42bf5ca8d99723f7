// Errors in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`, in which all four members are always present.

import { Type } from '@sinclair/typebox';
import { type ErrorKind, type RefusalOptions, ServiceError, type ValidationFailure } from '../core/errors.ts';
import { answer } from './input.ts';
import { component, nullable, text } from './schemas.ts';

export type OpenAiDetails = {
  type?: string;
  code?: string;
  param?: string;
  headers?: Record<string, string>;
};

/** A refusal with more details than its kind has: SDKs and their users decide by the code. */
export class OpenAiRefusal extends ServiceError {
  readonly details: OpenAiDetails;

  constructor(
    kind: ErrorKind,
    sentence: string,
    { cause, retryAfterSeconds, ...details }: OpenAiDetails & RefusalOptions = {},
  ) {
    super(kind, sentence, { cause, retryAfterSeconds });
    this.details = details;
  }
}

/** The same refusal, with these headers beside its own. */
export function withHeaders(refusal: OpenAiRefusal, headers: Record<string, string>): OpenAiRefusal {
  const { kind, message, cause, retryAfterSeconds, details } = refusal;
  return new OpenAiRefusal(kind, message, {
    ...details,
    headers: { ...headers, ...details.headers },
    cause,
    retryAfterSeconds,
  });
}

/** The type and the code of each kind of refusal, where it has none of its own. */
export const OPENAI_ERRORS: Record<ErrorKind, { type: string; code: string | null }> = {
  malformed: { type: 'invalid_request_error', code: null },
  unauthenticated: { type: 'invalid_request_error', code: 'invalid_api_key' },
  forbidden: { type: 'invalid_request_error', code: 'insufficient_permissions' },
  'not-found': { type: 'invalid_request_error', code: null },
  conflict: { type: 'invalid_request_error', code: null },
  gone: { type: 'invalid_request_error', code: null },
  'request-timeout': { type: 'invalid_request_error', code: 'request_timeout' },
  'too-large': { type: 'invalid_request_error', code: 'request_too_large' },
  'unsupported-media-type': { type: 'invalid_request_error', code: 'unsupported_media_type' },
  'too-many-requests': { type: 'requests', code: 'rate_limit_exceeded' },
  'not-implemented': { type: 'invalid_request_error', code: 'not_implemented' },
  'upstream-failed': { type: 'upstream_error', code: 'upstream_failed' },
  'upstream-timeout': { type: 'upstream_error', code: 'upstream_timeout' },
  unavailable: { type: 'server_error', code: 'service_unavailable' },
};

export type OpenAiErrorBody = {
  error: { message: string; type: string; param: string | null; code: string | null };
};

export function toOpenAiError(refusal: ServiceError): OpenAiErrorBody {
  const details = refusal instanceof OpenAiRefusal ? refusal.details : {};
  const { type, code } = OPENAI_ERRORS[refusal.kind];
  return {
    error: {
      message: refusal.message,
      type: details.type ?? type,
      param: details.param ?? null,
      code: details.code ?? code,
    },
  };
}

/** An SDK expects one mistake: `param` names the first one, and the message lists them all. */
export function toOpenAiValidationError({ entries, message }: ValidationFailure): OpenAiErrorBody {
  const param = entries[0]?.loc.filter((part) => part !== 'body').join('.') ?? '';
  return {
    error: { message, type: 'invalid_request_error', param: param === '' ? null : param, code: null },
  };
}

const openAiError = (message: string, type: string, code: string): OpenAiErrorBody => ({
  error: { message, type, param: null, code },
});

export const INTERNAL_OPENAI_ERROR = openAiError('Internal Server Error', 'server_error', 'internal_error');

export const METHOD_NOT_ALLOWED_OPENAI_ERROR = openAiError(
  'Method Not Allowed',
  'invalid_request_error',
  'method_not_allowed',
);

/** The error for a URL that no operation has. The query is not repeated, because it may hold secrets. */
export function unknownUrlOpenAiError(method: string, path: string): OpenAiErrorBody {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return openAiError(`There is no such URL: ${method} ${shown}`, 'invalid_request_error', 'unknown_url');
}

const OpenAiError = component('OpenAiError', 'A refusal in the shape of the API of OpenAI.', {
  error: Type.Object(
    {
      message: text('What was refused and why.'),
      type: text('The kind of the mistake.'),
      param: nullable(Type.String(), 'The member of the body that it is about.'),
      code: nullable(Type.String(), 'The code of the mistake, for programs.'),
    },
    { description: 'What went wrong.' },
  ),
});

const MEANINGS = {
  400: 'The request is malformed, or the model cannot do this.',
  401: 'The API key is absent, unknown, expired or revoked.',
  403: 'The API key lacks the scope, or belongs to another workspace.',
  404: 'There is no such model; the message names those there are.',
  408: 'The body did not arrive in time.',
  413: 'The body is too large.',
  415: 'The body is of another media type.',
  429: 'A limit of the key or of the upstream is reached.',
  500: 'The upstream failed and said so.',
  501: 'No model for this is configured.',
  502: 'The upstream refused, hung up, or answered nonsense.',
  503: 'Too much waits for the upstream, or a backing service is not available.',
  504: 'The upstream did not answer in time.',
} as const;

/** Refusals with these statuses, in OpenAI's shape. */
export const openAiRefusals = <const Status extends keyof typeof MEANINGS>(...statuses: readonly Status[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, answer({ description: MEANINGS[status], schema: OpenAiError })]),
  ) as Record<Status, typeof OpenAiError>;
