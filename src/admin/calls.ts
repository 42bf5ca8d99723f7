// Operations of the service, called in this process.

import { ServiceError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { createCors } from '../http/cors.ts';
import { createHttp } from '../http/http.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { adapt, openPathsOf, type Route } from '../http/operation.ts';
import { explainOutage } from '../infra/postgres/client.ts';

/**
 * Calls operations in this process, by the same rules as requests from outside. The caller can access the database directly, and is
 * therefore trusted.
 */
export function createCalls(routes: readonly Route[], log: Logger): InnerCall {
  const http = createHttp({
    authenticators: () => ({ key: () => undefined, session: async () => undefined }),
    cors: createCors([]),
    log,
    access: () => undefined,
    explainFailure: explainOutage,
    onInterrupt: () => () => undefined,
  });
  http.serve(adapt(http, routes), openPathsOf(routes));
  return http.call;
}

/** The mistakes of a call that is refused, or its sentence. */
export function explainRefusal(error: unknown): ValidationFailure['entries'] | string {
  if (error instanceof ValidationFailure) return error.entries;
  const refusal = error instanceof ServiceError ? error : explainOutage(error);
  return refusal?.message ?? 'Internal Server Error';
}
