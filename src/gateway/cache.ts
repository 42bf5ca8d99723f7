// Answers kept for repetition: only of requests whose answer is determined, never across workspaces, models or forms of answer.

import { LRUCache } from 'lru-cache';
import { isRawNumber, type Json } from '../core/json.ts';
import { abortable, within } from '../core/wait.ts';
import { streamOf } from './chunks.ts';
import { CACHE_BYTES_MAX, CACHED_ANSWER_BYTES_MAX, SHARED_WAIT_MS_MAX } from './limits.ts';
import type { ModelCall, Served } from './model-call.ts';
import { type Model, TARGET_HEADER } from './targets.ts';
import { NO_USAGE, type Usage } from './usage.ts';

/** How an answer is come by, and what a whole one has used. */
type Serving = {
  readonly usage: Usage | undefined;
  fresh(onBytes?: (bytes: Uint8Array) => void): Promise<Served>;
  /** Returns the headers of the key's limits. Throws 429. */
  fromCache(usage: Usage): Promise<Record<string, string>>;
};

type Kept = { bytes: Uint8Array; usage: Usage };

const HIT = { 'atrium-cache': 'hit', [TARGET_HEADER]: 'cache' };
const MISS = { 'atrium-cache': 'miss' };

export class AnswerCache {
  hits = 0;
  misses = 0;
  private readonly kept: LRUCache<string, Kept>;
  /** Requests that are being answered. */
  private readonly coming = new Map<string, Promise<void>>();

  constructor(now: () => number = () => performance.now()) {
    this.kept = new LRUCache({
      maxSize: CACHE_BYTES_MAX,
      maxEntrySize: CACHED_ANSWER_BYTES_MAX,
      sizeCalculation: ({ bytes }) => Math.max(1, bytes.length),
      ttlResolution: 0,
      perf: { now },
    });
  }

  get sizeBytes(): number {
    return this.kept.calculatedSize;
  }

  /** From memory if the same request was answered before; else fresh, with one call for all concurrent requests. */
  async serve(call: ModelCall, model: Model, serving: Serving): Promise<Served> {
    const key = toCacheKey(call, model);
    if (key === undefined) return serving.fresh();
    // If the first request fails or disconnects, each of the others makes its own call, without waiting for failures in turn.
    const other = this.kept.has(key) ? undefined : this.coming.get(key);
    // The client of the other may be slow to read.
    if (other !== undefined) await within(abortable(other, call.signal), SHARED_WAIT_MS_MAX, () => undefined);
    const kept = this.kept.get(key);
    if (kept !== undefined) {
      this.hits += 1;
      return toServed(kept, call, await serving.fromCache(kept.usage));
    }
    this.misses += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.coming.set(key, promise);
    const done = (): void => {
      if (this.coming.get(key) === promise) this.coming.delete(key);
      resolve();
    };
    const keep = (bytes: Uint8Array, usage: Usage = { ...NO_USAGE, estimated: true }): void => {
      this.kept.set(key, { bytes, usage }, { ttl: model.cacheTtlSeconds * 1000 });
    };
    try {
      const blocks: Uint8Array[] = [];
      let size = 0;
      const served = await serving.fresh((bytes) => {
        size += bytes.length;
        if (size <= CACHED_ANSWER_BYTES_MAX) blocks.push(bytes);
      });
      if (served.kind === 'stream') {
        const keepWhole = served.over.then(({ outcome, usage }) => {
          if (outcome === 'ok' && size <= CACHED_ANSWER_BYTES_MAX) keep(Buffer.concat(blocks), usage);
        });
        void keepWhole.then(done);
      } else {
        if (served.status === 200) keep(served.bytes, serving.usage);
        done();
      }
      return { ...served, headers: { ...served.headers, ...MISS } };
    } catch (error) {
      done();
      throw error;
    }
  }
}

function toServed({ bytes, usage }: Kept, { request }: ModelCall, limits: Record<string, string>): Served {
  const headers = { ...limits, ...HIT };
  if (!request.stream) return { kind: 'whole', status: 200, headers, bytes };
  return { kind: 'stream', headers, ...streamOf(bytes, { outcome: 'cached', usage }) };
}

/** Equal for requests that must have the same answer. Undefined where another answer to the same request would be as good. */
function toCacheKey({ endpoint, request, caller }: ModelCall, model: Model): string | undefined {
  if (endpoint === 'images') return undefined;
  const { model: _, stream_options: __, user: ___, ...rest } = request.body;
  if (endpoint !== 'embeddings' && rest['temperature'] !== 0) return undefined;
  if ((rest['n'] ?? 1) !== 1) return undefined;
  const form = [request.stream, request.includesUsage];
  const key = [caller.workspaceId, endpoint, model.id, form, canonical({ ...rest, stream: null })];
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(key)).digest('base64');
}

/** The same value, its members in one order, its numbers as they were written. */
function canonical(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value ?? null;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, canonical(each)]));
}
