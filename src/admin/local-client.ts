import { parseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { Principal } from '../core/principal.ts';
import { createBoundary } from '../http/boundary.ts';
import { createCors } from '../http/cors.ts';
import { createRequestMetrics } from '../http/metrics.ts';
import type { Route } from '../http/operation.ts';
import { explainOutage } from '../infra/postgres/client.ts';

export type Call = {
  operation: string;
  path: Record<string, string>;
  query?: Record<string, string>;
  body: Record<string, unknown> | undefined;
  principal: Principal;
};

/** Answers of 204 have no body. */
export type Answer = { status: number; body: unknown };

/**
 * Calls operations in this process, through the same boundary as requests from outside and so by the same rules.
 * The caller can access the database directly, and is therefore trusted to act as `principal`.
 */
export function createLocalClient({ routes, log }: { routes: readonly Route[]; log: Logger }) {
  return async ({ operation, path, query = {}, body, principal }: Call): Promise<Answer> => {
    const found = routes.find((route) => route.operation.id === operation);
    if (found === undefined) throw new Error(`there is no operation ${operation}`);
    const boundary = createBoundary({
      access: () => undefined,
      authenticators: { key: () => undefined, session: () => Promise.resolve(principal) },
      cors: createCors([]),
      log,
      requestMetrics: createRequestMetrics(),
      onInterrupt: () => () => undefined,
      explainFailure: explainOutage,
    });
    const filled = found.operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(path[name] ?? ''),
    );
    const search = new URLSearchParams(query);
    const response = await boundary.guard(found)(
      new Request(`http://localhost${filled}?${search}`, {
        method: found.operation.method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      }),
    );
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : parseJson(text) };
  };
}
