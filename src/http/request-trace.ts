// The trace of a request, by the semantic conventions for HTTP servers. Queries are left out: they may contain a key.

import { beginTrace, isTracing, type Span } from '../core/tracing.ts';
import type { RequestState } from './state.ts';
import { showPath, splitTarget } from './url.ts';

/** Probes come every few seconds, and are not traced. */
const PROBES = /^\/(?:healthz|readyz|metrics)?$/;

/** Begins the trace of a request; undefined without tracing, and for probes. */
export function beginRequestTrace(request: Request): Span | undefined {
  if (!isTracing() || PROBES.test(splitTarget(request.url).path)) return undefined;
  return beginTrace(
    'HTTP',
    () => ({
      kind: 'server',
      attributes: {
        'http.request.method': request.method,
        'url.path': showPath(request.url),
        'url.scheme': request.url.startsWith('https:') ? 'https' : 'http',
      },
    }),
    request,
  );
}

/** The beginning of an answer ends its span: the stream of a model has one of its own. */
export function endRequestTrace(
  trace: Span,
  { requestId, caller, called, operation }: RequestState,
  status: number,
): void {
  if (!trace.isSampled) return;
  if (operation !== undefined) trace.rename(`${operation.method} ${operation.path}`);
  trace.set({
    'http.route': operation?.path,
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
