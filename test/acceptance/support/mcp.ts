// The official client of the Model Context Protocol, unmodified, and messages of JSON-RPC as they are sent by hand.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The revision without a handshake, and the last one with it. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

export type McpClient = Client & AsyncDisposable;

/** A connected client. */
export async function connect(
  url: string,
  key: string | undefined,
  revision: Revision = '2026-07-28',
): Promise<McpClient> {
  const mode = revision === '2026-07-28' ? ('auto' as const) : ('legacy' as const);
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** A message as a client of a revision with a handshake sends it. */
export const message = (method: string, params: object = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

/** A message of a revision without a handshake, and the headers that go with it. */
export const modernMessage = (
  method: string,
  params: Record<string, unknown> & { _meta?: object } = {},
  { version = '2026-07-28', name }: { version?: string; name?: string } = {},
) => ({
  body: message(method, {
    ...params,
    _meta: {
      ...params._meta,
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }),
  headers: {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  } as Record<string, string>,
});

export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** The messages of an answer, whether it is JSON or a stream. */
export function messagesOf(
  text: string,
): { id?: unknown; result?: unknown; error?: { code: number; message: string } }[] {
  if (text.startsWith('{')) return [JSON.parse(text)];
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
}
