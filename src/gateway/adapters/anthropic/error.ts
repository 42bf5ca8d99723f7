// Anthropic's errors in OpenAI's words.

import { isObject } from '../../../core/json.ts';

type OpenAiError = { message: string; type: string; code: string | null; param: string | null };

const INVALID = 'invalid_request_error';

const MEANINGS: Record<string, { type: string; code: string | null }> = {
  invalid_request_error: { type: INVALID, code: null },
  authentication_error: { type: 'authentication_error', code: 'invalid_api_key' },
  permission_error: { type: 'permission_error', code: 'insufficient_permissions' },
  billing_error: { type: 'insufficient_quota', code: 'insufficient_quota' },
  not_found_error: { type: INVALID, code: 'model_not_found' },
  request_too_large: { type: INVALID, code: 'request_too_large' },
  rate_limit_error: { type: 'requests', code: 'rate_limit_exceeded' },
  timeout_error: { type: 'server_error', code: 'timeout' },
  overloaded_error: { type: 'server_error', code: 'overloaded' },
  api_error: { type: 'server_error', code: null },
};

/** Translates any answer: one without a message gets that of the status. */
export function toOpenAiError(status: number, answer: unknown): OpenAiError {
  const error = isObject(answer) && isObject(answer['error']) ? answer['error'] : {};
  const { type, message } = error;
  const known = typeof type === 'string' && Object.hasOwn(MEANINGS, type) ? MEANINGS[type] : undefined;
  const meaning = known ?? { type: status < 500 ? INVALID : 'server_error', code: null };
  const sentence =
    typeof message === 'string' && message !== '' ? message : `The model answered with ${status}`;
  return { message: sentence, ...meaning, param: null };
}
