// The MCP server: operations of the service as tools and resources for the models of other programs.

import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { PROGRESS_MS } from './limits.ts';
import { createToolCounts } from './metrics.ts';
import { mcpRoutes } from './routes.ts';
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

export function createMcp({ call, version, origins, log }: McpDeps) {
  const counts = createToolCounts();
  const operations = Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, id]) => [name, call.bind(undefined, id)]),
  ) as Operations;
  const serve = createLazyServe({ operations, tools: TOOLS, version, counts, progressMs: PROGRESS_MS, log });
  return {
    routes: (http) => mcpRoutes(http, { tools: TOOLS, serve, origins }),
    jobs: [],
    checks: [],
    metrics: counts.metrics,
  } satisfies AreaWithRoutes;
}

/** The SDK is loaded for the first request. */
function createLazyServe(deps: ServeDeps) {
  const load = async () => (await import('./server.ts')).createServe(deps);
  let loaded: ReturnType<typeof load> | undefined;
  return () => (loaded ??= load());
}
