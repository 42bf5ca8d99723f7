// Operations of the service, called in this process.

import { type AnyElysia, Elysia } from 'elysia';
import { ServiceError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Routes } from '../http/area.ts';
import { createCors } from '../http/cors.ts';
import { createHttp, ELYSIA_OPTIONS } from '../http/http.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { explainOutage } from '../infra/postgres/client.ts';
import { OPEN_ROUTES } from '../open-routes.ts';

/**
 * Calls operations in this process, by the same rules as requests from outside. The caller can access the database directly, and is
 * therefore trusted.
 */
export function createCalls(areas: readonly Routes[], log: Logger): InnerCall {
  const http = createHttp({
    authenticators: () => ({ key: () => undefined, session: async () => undefined }),
    cors: createCors([]),
    log,
    access: () => undefined,
    explainFailure: explainOutage,
    shutdown: new AbortController().signal,
  });
  const app = areas.reduce<AnyElysia>((all, routes) => all.use(routes(http)), new Elysia(ELYSIA_OPTIONS));
  http.serve(app, OPEN_ROUTES);
  return http.call;
}

/** The mistakes of a call that is refused, or its sentence. */
export function explainRefusal(error: unknown): ValidationFailure['entries'] | string {
  if (error instanceof ValidationFailure) return error.entries;
  const refusal = error instanceof ServiceError ? error : explainOutage(error);
  return refusal?.message ?? 'Internal Server Error';
}
