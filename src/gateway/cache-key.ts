// The cache key: equal for requests that must have the same answer.

import { isRawNumber, parseJsonAsWritten } from '../core/json.ts';
import type { ModelCall } from './model-call.ts';
import { readMember } from './request.ts';
import { countWrittenMembers } from './scan.ts';
import type { Model } from './targets.ts';
import type { Json, JsonObject } from './wire.ts';

/**
 * Undefined where another answer to the same request would be as good, and where two readers may take the request for
 * two different ones: where an object has two members of one name, the upstream may go by the other.
 */
export function toCacheKey({ endpoint, request, caller }: ModelCall, model: Model): string | undefined {
  if (endpoint === 'images') return undefined;
  if (endpoint !== 'embeddings' && readMember(request, 'temperature') !== 0) return undefined;
  const several = readMember(request, 'n') ?? 1;
  if (several !== 1) return undefined;
  const whole = parseAsWritten(request.bytes);
  if (whole === undefined || countMembers(whole) !== countWrittenMembers(request.bytes)) return undefined;
  const { model: _, stream: __, stream_options: ___, user: ____, ...rest } = whole;
  const hash = new Bun.CryptoHasher('sha256');
  return hash
    .update(JSON.stringify([caller.workspaceId, endpoint, model.id, canonical(rest)]))
    .digest('base64');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined if the body is not valid JSON and UTF-8 throughout: upstreams may parse such a body differently. */
function parseAsWritten(bytes: Uint8Array): JsonObject | undefined {
  try {
    return parseJsonAsWritten(utf8.decode(bytes)) as JsonObject;
  } catch {
    return undefined;
  }
}

/** The same value, its members in one order, its numbers as they were written. */
function canonical(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value ?? null;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, canonical(each)]));
}

/** Members of all objects; of several of one name, parsing has kept one. */
function countMembers(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + countMembers(each), 0);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
}
