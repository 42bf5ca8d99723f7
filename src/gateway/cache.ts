// Answers kept for repetition: only of requests whose answer is determined, never across workspaces or models.

import { LRUCache } from 'lru-cache';
import { isRawNumber, type Json, type JsonObject, parseJson } from '../core/json.ts';
import { abortable, within } from '../core/wait.ts';
import { fromChunks, streamOf, toChunks } from './chunks.ts';
import { CACHE_BYTES_MAX, CACHED_ANSWER_BYTES_MAX, SHARED_WAIT_MS_MAX } from './limits.ts';
import type { ModelCall, Served } from './model-call.ts';
import { type Model, TARGET_HEADER } from './targets.ts';
import { checkAnswer, type Usage } from './usage.ts';

export type AnswerCache = ReturnType<typeof createAnswerCache>;

type CacheRequest = {
  call: ModelCall;
  model: Model;
  serveFresh(onBlock?: (block: Uint8Array) => void): Promise<Served>;
  /** Gives the headers of the key's limits. Throws where one is reached. */
  onHit(usage: Usage): Promise<Record<string, string>>;
};

const HIT = { 'atrium-cache': 'hit', [TARGET_HEADER]: 'cache' };
const MISS = { 'atrium-cache': 'miss' };

export function createAnswerCache(now: () => number = () => performance.now()) {
  const kept = new LRUCache<string, Uint8Array>({
    maxSize: CACHE_BYTES_MAX,
    maxEntrySize: CACHED_ANSWER_BYTES_MAX,
    sizeCalculation: (bytes) => Math.max(1, bytes.length),
    ttlResolution: 0,
    perf: { now },
  });
  const coming = new Map<string, Promise<void>>();
  const metrics = { hits: 0, misses: 0 };

  return {
    metrics: () => ({ answers: kept.size, bytes: kept.calculatedSize, ...metrics }),
    /** From memory if the same request was answered before; else fresh, with one call for all concurrent requests. */
    async serve({ call, model, serveFresh, onHit }: CacheRequest): Promise<Served> {
      const key = toCacheKey(call, model);
      if (key === undefined) return serveFresh();
      // If the first request fails or disconnects, each of the others makes its own call, without waiting for failures in turn.
      const other = kept.has(key) ? undefined : coming.get(key);
      // The client of the other may be slow to read.
      if (other !== undefined)
        await within(abortable(other, call.signal), SHARED_WAIT_MS_MAX, () => undefined);
      const bytes = kept.get(key);
      if (bytes !== undefined) {
        metrics.hits += 1;
        const limits = await onHit(checkAnswer(bytes).usage ?? NO_TOKENS);
        return toServed(bytes, call, limits);
      }
      metrics.misses += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      coming.set(key, promise);
      const done = (): void => {
        if (coming.get(key) === promise) coming.delete(key);
        resolve();
      };
      const keep = (answer: Uint8Array): void =>
        void kept.set(key, answer, { ttl: model.cacheTtlSeconds * 1000 });
      try {
        const served = await serveFresh(call.request.stream ? collectInto(keep) : undefined);
        const headers = { ...served.headers, ...MISS };
        if (served.kind === 'stream') void served.over.then(done);
        else {
          if (served.status === 200) keep(served.bytes);
          done();
        }
        return { ...served, headers };
      } catch (error) {
        done();
        throw error;
      }
    },
  };
}

const NO_TOKENS: Usage = { promptTokens: 0, completionTokens: 0, estimated: true };

/** Collects the blocks of a stream, and keeps its whole answer once it is complete. */
function collectInto(keep: (answer: Uint8Array) => void): (block: Uint8Array) => void {
  const sizeMax = 4 * CACHED_ANSWER_BYTES_MAX;
  const blocks: Uint8Array[] = [];
  let size = 0;
  return (block) => {
    size += block.length;
    if (size > sizeMax) return;
    blocks.push(block);
    if (!Buffer.from(block.subarray(-32)).includes('[DONE]')) return;
    const whole = fromChunks(Buffer.concat(blocks).toString(), undefined);
    if (whole !== undefined) keep(Buffer.from(JSON.stringify(whole)));
  };
}

function toServed(bytes: Uint8Array, { request }: ModelCall, limits: Record<string, string>): Served {
  if (!request.stream)
    return {
      kind: 'whole',
      status: 200,
      headers: { ...limits, ...HIT, 'content-type': 'application/json' },
      bytes,
    };
  const answer = parseJson(Buffer.from(bytes).toString()) as JsonObject;
  const stream = streamOf(toChunks(answer, request.includesUsage));
  return { kind: 'stream', headers: { ...limits, ...HIT }, ...stream };
}

/** Equal for requests that must have the same answer. Undefined where another answer to the same request would be as good. */
function toCacheKey({ endpoint, request, caller }: ModelCall, model: Model): string | undefined {
  if (endpoint === 'images') return undefined;
  const { model: _, stream: __, stream_options: ___, user: ____, ...rest } = request.body;
  if (endpoint !== 'embeddings' && rest['temperature'] !== 0) return undefined;
  if ((rest['n'] ?? 1) !== 1) return undefined;
  const key = JSON.stringify([caller.workspaceId, endpoint, model.id, canonical(rest)]);
  return new Bun.CryptoHasher('sha256').update(key).digest('base64');
}

/** The same value, its members in one order, its numbers as they were written. */
function canonical(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value ?? null;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, canonical(each)]));
}
