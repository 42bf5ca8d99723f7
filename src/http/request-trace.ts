// The trace of a request, by the semantic conventions for HTTP servers. Queries are left out: they may contain a key.

import type { Principal } from '../core/principal.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { beginTrace, isSpan, isTracing } from '../core/tracing.ts';
import type { Operation } from './operation.ts';
import { showPath } from './request.ts';

type Begin = (request: Request) => TraceContext | undefined;

/** Begins the traces of an operation's requests; undefined without tracing, and for probes, which come every few seconds. */
export function createRequestTrace({ method, path, area }: Operation): Begin | undefined {
  if (!isTracing() || area === 'health') return undefined;
  // What no operation answers has no route.
  const route = path === '*' ? undefined : path;
  const name = route === undefined ? 'HTTP' : `${method} ${route}`;
  return (request) =>
    beginTrace(
      name,
      () => ({
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': showPath(request.url),
          'url.scheme': request.url.startsWith('https:') ? 'https' : 'http',
        },
      }),
      request,
    );
}

/** The beginning of an answer ends its span: the stream of a model has one of its own. */
export function endRequestTrace(
  trace: TraceContext,
  {
    requestId,
    caller,
    called,
  }: { requestId: string; caller: Principal | undefined; called: string | undefined },
  status: number,
): void {
  if (!isSpan(trace)) return;
  trace.set({
    'http.response.status_code': status,
    'atrium.request.id': requestId,
    'atrium.workspace.id': caller?.workspaceId,
    'atrium.key.id': caller?.keyId || undefined,
    'atrium.called': called,
  });
  // Refusals of a caller's mistake are no errors of the server.
  if (status >= 500) trace.fail(String(status));
  trace.end();
}
