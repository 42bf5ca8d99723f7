// The MCP server: operations of the service as tools and resources for the models of other programs.

import { forbidden, unsupportedMediaType, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Area } from '../http/area.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { route } from '../http/operation.ts';
import { isOwnLocalPage } from '../http/provenance.ts';
import { toJsonBody } from '../http/validation.ts';
import { PROGRESS_MS } from './limits.ts';
import { createToolCounts } from './metrics.ts';
import { ANSWER_EXAMPLE, CALL_EXAMPLE, McpRequest, McpResponse, STREAM_EXAMPLE } from './schema.ts';
import type { ServeDeps } from './server.ts';
import { OPERATIONS, type Operations, type Tool } from './tool.ts';
import { askAgent } from './tools/ask-agent.ts';
import { documentLink } from './tools/document-link.ts';
import { readDocument } from './tools/read-document.ts';
import { retrieve } from './tools/retrieve.ts';
import { searchDocuments } from './tools/search-documents.ts';

export type McpDeps = {
  /** Calls operations of the service, which the tools do. */
  call: InnerCall;
  version: string;
  /** Origins whose pages may send requests; `*` stands for all of them. */
  origins: readonly string[];
  log: Logger;
};

const TOOLS: readonly Tool[] = [retrieve, searchDocuments, readDocument, documentLink, askAgent];

export function createMcp({ call, version, origins, log }: McpDeps): Area {
  const counts = createToolCounts();
  const operations = Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, id]) => [name, call.bind(undefined, id)]),
  ) as Operations;
  const serve = createLazyServe({ operations, tools: TOOLS, version, counts, progressMs: PROGRESS_MS, log });
  const refused = (description: string) => ({ description, schema: McpResponse });
  return {
    routes: [
      route(
        {
          id: 'mcp.message',
          work: 'model',
          area: 'mcp',
          method: 'POST',
          path: '/mcp',
          summary: 'Send a message of the Model Context Protocol',
          description:
            'The streamable HTTP transport, without sessions: the revision 2026-07-28, and those from 2024-11-05 on with their ' +
            'handshake. Each tool asks for the scope of the operation behind it; tools that the key may not use are not listed. ' +
            'Requests that pages of other origins send are refused with 403, but for those of `CORS_ORIGINS`, and its own.',
          credential: 'key',
          // An agent may take minutes.
          noIdleTimeout: true,
          bodyContent: { 'application/json': { schema: McpRequest, example: CALL_EXAMPLE } },
          responses: {
            200: {
              description: 'The answer; as a stream of events where the revision or a long call needs one.',
              schema: McpResponse,
              example: ANSWER_EXAMPLE,
              stream: STREAM_EXAMPLE,
            },
            202: { description: 'A notification was taken.' },
            400: refused('The body is no JSON, or no message of the protocol.'),
            404: refused('There is no such method.'),
            406: refused('The header `Accept` leaves out `application/json` or `text/event-stream`.'),
          },
          refusals: [403],
        },
        async (input) => {
          const { principal, requestId, request, bytes } = input;
          assertOrigin(request, origins);
          const body = await readMessage(request, bytes);
          if (body instanceof Response) return body;
          const called = TOOLS.find(({ name }) => name === toolOf(body));
          input.called = called?.name ?? methodOf(body);
          return (await serve())({ request, body, principal, requestId, isLong: called?.isLong === true });
        },
      ),
    ],
    jobs: [],
    checks: [],
    metrics: counts.metrics,
  };
}

/** The SDK is loaded for the first request. */
function createLazyServe(deps: ServeDeps) {
  const load = async () => (await import('./server.ts')).createServe(deps);
  let loaded: ReturnType<typeof load> | undefined;
  return () => (loaded ??= load());
}

/**
 * A page whose host resolves to this machine (DNS rebinding) is of the same origin as what it sends requests to, and the
 * specification asks for this check of every request; most programs send no `Origin`. The service's own origin is known by PUBLIC_URL,
 * or by a name that no DNS server assigns. Throws 403.
 */
function assertOrigin(request: Request, origins: readonly string[]): void {
  const origin = request.headers.get('origin');
  const isAllowed = origin === null || origins.includes('*') || origins.includes(origin);
  if (!isAllowed && !isOwnLocalPage(request))
    throw forbidden('Pages of this origin may not use the MCP server (CORS_ORIGINS)');
}

/** The parsed body, or JSON-RPC's answer to a body that is no JSON. Throws 415 as other operations do. */
async function readMessage(request: Request, bytes: Uint8Array): Promise<unknown> {
  if (!request.headers.has('content-type'))
    throw unsupportedMediaType('The body must be sent as application/json');
  try {
    return await toJsonBody(request, bytes);
  } catch (error) {
    if (error instanceof ValidationFailure) return refuseMessage(error);
    throw error;
  }
}

/** In the codes of JSON-RPC 2.0, section 5.1. */
function refuseMessage({ entries, message }: ValidationFailure): Response {
  const unparsed = entries.find(({ type }) => type === 'json_invalid');
  const error =
    unparsed === undefined
      ? { code: -32600, message: `Invalid Request: ${message}` }
      : { code: -32700, message: `Parse error: ${unparsed.ctx?.['error']}` };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 400 });
}

type Message = { method?: unknown; params?: { name?: unknown } | null };

/** The name of the tool that a message calls, if it does. */
function toolOf(body: unknown): unknown {
  const { method, params } = body as Message;
  return method === 'tools/call' ? params?.name : undefined;
}

/** What the log says of a message that calls no tool; text of callers is not repeated. */
function methodOf(body: unknown): string {
  if (Array.isArray(body)) return 'batch';
  const { method } = body as Message;
  return typeof method === 'string' && METHODS.has(method) ? method : 'other';
}

const METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'notifications/initialized',
  'notifications/cancelled',
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/read',
  'resources/templates/list',
]);
