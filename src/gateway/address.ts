import type { Endpoint } from './adapters/adapter.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { Upstream } from './targets.ts';

type Address = { url: string; headers: Record<string, string> };

/** By the specification, so that a reload begins anew. */
const addresses = new WeakMap<UpstreamSpec, Map<string, Address>>();

/** The URL and headers of a model, made once, since neither changes. */
export function addressOf({ spec, adapter }: Upstream, endpoint: Endpoint, model: string): Address {
  const known = addresses.get(spec) ?? new Map<string, Address>();
  addresses.set(spec, known);
  const key = `${endpoint} ${model}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const { url, headers } = adapter.target({ ...spec, endpoint, model });
  const address = {
    url,
    headers: {
      ...headers,
      ...spec.headers,
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    },
  };
  known.set(key, address);
  return address;
}

/** Bun's words for connections that never came about. */
const UNSENT: ReadonlySet<unknown> = new Set([
  ...[
    'ConnectionRefused',
    'FailedToOpenSocket',
    'ENOTFOUND',
    'ECONNREFUSED',
    'DNSException',
    'ENETUNREACH',
    'EHOSTUNREACH',
  ],
]);

/** Whether the upstream cannot have seen the request. */
export const isUnsent = (error: unknown): boolean => UNSENT.has((error as { code?: unknown } | null)?.code);
