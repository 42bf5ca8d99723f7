// Errors as the answers that callers get: the status of their kind, and a sentence in the shape of the operation.

import { type ErrorKind, notFound, ServiceError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { Overloaded } from './admission.ts';
import { challengeOf } from './credentials.ts';
import {
  INTERNAL_OPENAI_ERROR,
  METHOD_NOT_ALLOWED_OPENAI_ERROR,
  OpenAiRefusal,
  toOpenAiError,
  toOpenAiValidationError,
  unknownUrlOpenAiError,
} from './openai-error.ts';
import type { Operation, RouteTable } from './routes.ts';
import { splitTarget } from './url.ts';

export const STATUS: Record<ErrorKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'request-timeout': 408,
  conflict: 409,
  gone: 410,
  'too-large': 413,
  'unsupported-media-type': 415,
  'too-many-requests': 429,
  'not-implemented': 501,
  'upstream-failed': 502,
  unavailable: 503,
  'upstream-timeout': 504,
};

/** Refusals that the caller has not caused; the log has their causes. */
const NOT_OF_CALLER: ReadonlySet<ErrorKind> = new Set(['unavailable', 'upstream-failed', 'upstream-timeout']);

/** `explain` converts a failure of a backing service into the refusal that the caller may see; `fields` are those of the log lines. */
export function renderFailure(
  error: unknown,
  operation: Operation,
  {
    explain,
    fields,
    log,
  }: { explain: (error: unknown) => ServiceError | undefined; fields: object; log: Logger },
): Response {
  if (error instanceof ValidationFailure)
    return operation.errorShape === 'openai'
      ? Response.json(toOpenAiValidationError(error), { status: 400 })
      : Response.json({ detail: error.entries }, { status: 422 });
  const refusal = error instanceof ServiceError ? error : explain(error);
  if (refusal === undefined) {
    log.error({ ...fields, err: error }, 'unexpected failure');
    return internalError(operation);
  }
  if (NOT_OF_CALLER.has(refusal.kind) && !(refusal instanceof Overloaded || refusal instanceof ShuttingDown))
    log.warn({ ...fields, err: refusal.cause ?? error }, refusal.message);
  return renderRefusal(refusal, operation);
}

export const internalError = ({ errorShape }: Operation, headers: Record<string, string> = {}): Response =>
  Response.json(errorShape === undefined ? { detail: 'Internal Server Error' } : INTERNAL_OPENAI_ERROR, {
    status: 500,
    headers,
  });

function renderRefusal(refusal: ServiceError, { errorShape, credential }: Operation): Response {
  const body = errorShape === undefined ? { detail: refusal.message } : toOpenAiError(refusal);
  const response = Response.json(body, { status: STATUS[refusal.kind] });
  for (const value of refusal.setCookies) response.headers.append('set-cookie', value);
  if (refusal instanceof OpenAiRefusal) {
    for (const [name, value] of Object.entries(refusal.details.headers ?? {}))
      response.headers.set(name, value);
  }
  if (refusal.kind === 'unauthenticated') response.headers.set('www-authenticate', challengeOf(credential));
  if (refusal.kind === 'request-timeout' || refusal instanceof ShuttingDown)
    response.headers.set('connection', 'close');
  if (refusal.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(refusal.retryAfterSeconds));
  return response;
}

/** The service takes no new requests, and ends those that run at the end of its time. */
export class ShuttingDown extends ServiceError {
  constructor() {
    super('unavailable', 'The service is shutting down', { retryAfterSeconds: 2 });
  }
}

export const shuttingDown = (operation: Operation): Response => renderRefusal(new ShuttingDown(), operation);

/** The answer where no route fits a request: 405 where its path has other methods, else 404. */
export function answerUnmatched(request: Request, table: RouteTable): Response | Error {
  const { allowed, isOpenAi } = table.describeUnmatched(request);
  if (allowed.length > 0) {
    const body = isOpenAi ? METHOD_NOT_ALLOWED_OPENAI_ERROR : { detail: 'Method Not Allowed' };
    return Response.json(body, { status: 405, headers: { allow: allowed.join(', ') } });
  }
  if (!isOpenAi) return notFound('Not Found');
  const body = unknownUrlOpenAiError(request.method, splitTarget(request.url).path);
  return Response.json(body, { status: 404 });
}
