// The MCP server: operations of the service as tools and resources for the models of other programs.

import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { askAgent } from './ask-agent.ts';
import { documentLink, readDocument, retrieve, searchDocuments } from './document-tools.ts';
import { createToolCounts } from './metrics.ts';
import { mcpRoutes } from './routes.ts';

export type McpDeps = {
  /** Calls operations of the service, which the tools do. */
  call: InnerCall;
  version: string;
  /** Origins whose pages may send requests; `*` stands for all of them. */
  origins: readonly string[];
  log: Logger;
};

const TOOLS = [retrieve, searchDocuments, readDocument, documentLink, askAgent];

export function createMcp({ call, version, origins, log }: McpDeps) {
  const counts = createToolCounts();
  return {
    routes: (http) => mcpRoutes(http, { call, tools: TOOLS, version, counts, log }, origins),
    jobs: [],
    checks: [],
    metrics: counts.metrics,
  } satisfies AreaWithRoutes;
}
