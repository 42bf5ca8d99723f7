// The metrics of tool calls.

import { counter, type Metric } from '../http/metrics.ts';

/** `refused`: the caller's mistake, or none of their rights; `failed`: ours, or of a server behind us. */
export type Outcome = 'answered' | 'refused' | 'failed' | 'cancelled';

export type ToolCounts = ReturnType<typeof createToolCounts>;

export function createToolCounts() {
  const calls = new Map<string, { labels: { tool: string; outcome: Outcome }; count: number; ms: number }>();
  return {
    /** `tool` is the name of one that there is: what callers send is no label. */
    count(tool: string, outcome: Outcome, ms: number): void {
      const key = `${tool} ${outcome}`;
      const entry = calls.get(key) ?? { labels: { tool, outcome }, count: 0, ms: 0 };
      calls.set(key, { ...entry, count: entry.count + 1, ms: entry.ms + ms });
    },
    metrics: [
      counter('atrium_mcp_tool_calls_total', 'Calls of MCP tools, by how they ended.', () =>
        [...calls.values()].map(({ labels, count }) => ({ labels, value: count })),
      ),
      counter('atrium_mcp_tool_seconds_total', 'Time that calls of MCP tools took.', () =>
        [...calls.values()].map(({ labels, ms }) => ({ labels, value: ms / 1000 })),
      ),
    ] satisfies Metric[],
  };
}
