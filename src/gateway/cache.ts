// Answers kept for repetition: only of requests whose answer is determined, never across workspaces or models.

import { LRUCache } from 'lru-cache';
import { parseJson } from '../core/json.ts';
import { toCacheKey } from './cache-key.ts';
import { fromChunks, toByteStream, toChunks } from './chunks.ts';
import { CACHE_BYTES_MAX, CACHED_ANSWER_BYTES_MAX, SHARED_WAIT_MS_MAX } from './limits.ts';
import type { ModelCall, Served } from './model-call.ts';
import { readMember } from './request.ts';
import { type Model, TARGET_HEADER } from './targets.ts';
import { checkAnswer, type Usage } from './usage.ts';
import type { JsonObject } from './wire.ts';

export type AnswerCache = {
  /** From memory if the same request was answered before; else fresh, with one call for all concurrent requests. */
  serve(request: {
    call: ModelCall;
    model: Model;
    serveFresh(onBlock?: (block: Uint8Array) => void): Promise<Served>;
    /** Gives the headers of the key's limits. Throws where one is reached. */
    onHit(usage: Usage): Promise<Record<string, string>>;
  }): Promise<Served>;
  metrics(): { answers: number; bytes: number; hits: number; misses: number };
};

const HIT = { 'atrium-cache': 'hit', [TARGET_HEADER]: 'cache' };
const MISS = { 'atrium-cache': 'miss' };

export function createAnswerCache(now: () => number = () => performance.now()): AnswerCache {
  const kept = new LRUCache<string, Uint8Array>({
    ...{ maxSize: CACHE_BYTES_MAX, maxEntrySize: CACHED_ANSWER_BYTES_MAX },
    sizeCalculation: (bytes) => Math.max(1, bytes.length),
    ...{ ttlResolution: 0, perf: { now } },
  });
  const coming = new Map<string, Promise<void>>();
  const metrics = { hits: 0, misses: 0 };

  return {
    metrics: () => ({ answers: kept.size, bytes: kept.calculatedSize, ...metrics }),
    async serve({ call, model, serveFresh, onHit }) {
      const key = toCacheKey(call, model);
      if (key === undefined) return serveFresh();
      // If the first request fails or disconnects, each of the others makes its own call, without waiting for failures in turn.
      const other = kept.has(key) ? undefined : coming.get(key);
      if (other !== undefined) await waitFor(other, call.signal);
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
      try {
        return await serveAndKeep({
          call,
          serveFresh,
          done,
          keep: (answer) => void kept.set(key, answer, { ttl: model.cacheTtlSeconds * 1000 }),
        });
      } catch (error) {
        done();
        throw error;
      }
    },
  };
}

/** Until the other is done, but not for ever: its client may be slow to read. Rejects when the signal aborts. */
async function waitFor(other: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const timer = setTimeout(end, SHARED_WAIT_MS_MAX);
  const onAbort = () => end();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([other, over]);
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  signal.throwIfAborted();
}

const NO_TOKENS: Usage = { promptTokens: 0, completionTokens: 0, estimated: true };

async function serveAndKeep(options: {
  call: ModelCall;
  serveFresh(onBlock?: (block: Uint8Array) => void): Promise<Served>;
  keep: (bytes: Uint8Array) => void;
  /** Requests that wait for the same answer may continue. */
  done: () => void;
}): Promise<Served> {
  const { call, serveFresh, keep, done } = options;
  const blocks: Uint8Array[] = [];
  let size = 0;
  const collect = (block: Uint8Array): void => {
    size += block.length;
    if (size <= 4 * CACHED_ANSWER_BYTES_MAX) blocks.push(block);
    if (!Buffer.from(block.subarray(-32)).includes('[DONE]') || size > 4 * CACHED_ANSWER_BYTES_MAX) return;
    const whole = fromChunks(Buffer.concat(blocks).toString(), undefined);
    if (whole !== undefined) keep(Buffer.from(JSON.stringify(whole)));
  };
  const served = await serveFresh(call.request.stream ? collect : undefined);
  if (served.kind === 'whole') {
    if (served.status === 200) keep(served.bytes);
    done();
    return { ...served, headers: { ...served.headers, ...MISS } };
  }
  return { ...served, headers: { ...served.headers, ...MISS }, body: whenOver(served.body, done) };
}

/** The same stream; `done` is called when it has ended, however it ended. */
function whenOver(body: ReadableStream<Uint8Array>, done: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done: over } = await reader.read();
        if (!over) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      done();
    },
    cancel(reason) {
      done();
      return reader.cancel(reason);
    },
  });
}

function toServed(bytes: Uint8Array, { request }: ModelCall, limits: Record<string, string>): Served {
  if (!request.stream)
    return {
      kind: 'whole',
      status: 200,
      headers: { ...limits, ...HIT, 'content-type': 'application/json' },
      bytes,
    };
  const options = readMember(request, 'stream_options') as JsonObject | null | undefined;
  const answer = parseJson(Buffer.from(bytes).toString()) as JsonObject;
  const body = toByteStream(toChunks(answer, options?.['include_usage'] === true));
  return { kind: 'stream', headers: { ...limits, ...HIT }, body };
}
