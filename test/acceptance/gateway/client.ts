// A client of the gateway, as tests need it: short questions, keys with limits, and what was accounted for.

import { eventually } from '../../support/child.ts';
import { WORKSPACE } from '../../support/service.ts';
import { bodyOf, type Caller, createCaller } from '../support/caller.ts';

export type Ask = {
  key?: string | undefined;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  path?: string;
  signal?: AbortSignal;
};

export type UsageSums = {
  requests: number;
  errors: number;
  estimated: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cost: number;
  latency_ms: number | null;
  latency_p50_ms: number | null;
  latency_p95_ms: number | null;
  latency_p99_ms: number | null;
  first_event_ms: number | null;
  first_event_p50_ms: number | null;
  first_event_p95_ms: number | null;
  first_event_p99_ms: number | null;
};
export type ModelUsage = { items: (UsageSums & { group: string; key?: object | null })[]; total: UsageSums };

export type KeyLimits = {
  requests_per_minute?: number;
  tokens_per_minute?: number;
  budget_per_month?: number;
};

export function createClient({ url, key: adminKey }: { url: string; key: string }) {
  const call: Caller = createCaller(url);
  const usage = async (query: Record<string, string> = {}): Promise<ModelUsage> =>
    bodyOf(
      await call('GET', `/admin/api/workspaces/${WORKSPACE}/model-usage`, { key: adminKey, query }),
      200,
    );
  return {
    call,
    usage,
    /** Sums by group, once as many requests are accounted for. */
    async usageOf(requests: number, query: Record<string, string> = {}): Promise<Map<string, UsageSums>> {
      const { items } = await eventually(`${requests} accounts`, async () => {
        const found = await usage(query);
        return found.total.requests >= requests && found;
      });
      return new Map(items.map(({ group, ...sums }) => [group, sums]));
    },
    ask: (
      model: string,
      { key = adminKey, body, headers, path = '/v1/chat/completions', signal }: Ask = {},
    ): Promise<Response> =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'one two three' }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    async newKey(limits: KeyLimits, scopes = ['models']): Promise<{ id: string; key: string }> {
      const json = { name: 'test', scopes, limits };
      return bodyOf(
        await call('POST', `/admin/api/workspaces/${WORKSPACE}/keys`, { key: adminKey, json }),
        201,
      );
    },
  };
}

export type Client = ReturnType<typeof createClient>;

/** OpenAI's error in an answer. */
export async function errorOf(
  response: Response,
): Promise<{ status: number; code: string | null; type: string; message: string; param: string | null }> {
  const { error } = (await response.json()) as {
    error: { code: string | null; type: string; message: string; param: string | null };
  };
  return { status: response.status, ...error };
}
