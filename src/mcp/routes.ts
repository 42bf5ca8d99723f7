import { Elysia } from 'elysia';
import { forbidden, unsupportedMediaType, ValidationFailure } from '../core/errors.ts';
import type { Http } from '../http/http.ts';
import { answer, bytes, refusals } from '../http/input.ts';
import { isOwnLocalPage } from '../http/provenance.ts';
import { toJsonBody } from '../http/validation.ts';
import { ANSWER_EXAMPLE, CALL_EXAMPLE, McpRequest, McpResponse, STREAM_EXAMPLE } from './schema.ts';
import type { ServeDeps } from './server.ts';

const refused = (description: string) => answer({ description, schema: McpResponse });

/** `origins`: those whose pages may send requests; `*` stands for all of them. */
export const mcpRoutes = ({ plugin }: Http, deps: ServeDeps, origins: readonly string[]) =>
  new Elysia({ name: 'mcp', tags: ['mcp'] }).use(plugin).post(
    '/mcp',
    async ({ principal, request, body, state }) => {
      assertOrigin(request, origins);
      const message = await readMessage(request, body);
      if (message instanceof Response) return message;
      const called = deps.tools.find(({ name }) => name === toolOf(message));
      state.called = called?.name ?? methodOf(message);
      const { requestId } = state;
      const isLong = called?.isLong === true;
      // The SDK is loaded for the first request.
      const { serveMcp } = await import('./server.ts');
      return serveMcp(deps, { request, body: message, principal, requestId, isLong });
    },
    {
      key: { in: 'key' },
      work: 'model',
      // An agent may take minutes.
      noIdleTimeout: true,
      body: bytes({ 'application/json': { schema: McpRequest, example: CALL_EXAMPLE } }),
      response: {
        200: answer({
          description: 'The answer; as a stream of events where the revision or a long call needs one.',
          schema: McpResponse,
          example: ANSWER_EXAMPLE,
          stream: STREAM_EXAMPLE,
        }),
        202: answer({ description: 'A notification was taken.' }),
        400: refused('The body is no JSON, or no message of the protocol.'),
        404: refused('There is no such method.'),
        406: refused('The header `Accept` leaves out `application/json` or `text/event-stream`.'),
        ...refusals(403),
      },
      detail: {
        operationId: 'mcp.message',
        summary: 'Send a message of the Model Context Protocol',
        description:
          'The streamable HTTP transport, without sessions: the revision 2026-07-28, and those from 2024-11-05 on with their ' +
          'handshake. Each tool asks for the scope of the operation behind it; tools that the key may not use are not listed. ' +
          'Requests that pages of other origins send are refused with 403, but for those of `CORS_ORIGINS`, and its own.',
      },
    },
  );

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
