/** Invalidation of caches by notifications of changed rows, from all processes. */
import type { Logger } from '../../core/logger.ts';
import { sleep } from '../../core/wait.ts';
import type { Sql } from './client.ts';
import { listen } from './listener.ts';

/** Triggers call `pg_notify('atrium_invalidate', 'topic:key')`; the connect probe uses the empty topic. */
const CHANNEL = 'atrium_invalidate';
const RECONNECT_DELAY_MS_MIN = 100;
const RECONNECT_DELAY_MS_MAX = 2_000;

type Log = Pick<Logger, 'warn' | 'error'>;

type Subscriber = { topic: string; onKey: (key: string) => void; onReset: () => void };

export type Invalidation = ReturnType<typeof createInvalidation>;

/**
 * `connected` becomes false at once when the connection is closed, and within 3 s when the server hangs or the network
 * drops packets. Subscribers are reset at each loss and at each connection.
 */
export function createInvalidation({ sql, log }: { sql: Pick<Sql, 'reserve'>; log: Log }) {
  const registry = createRegistry(log);
  const closing = new AbortController();
  let connected = false;
  const firstAttempt = Promise.withResolvers<void>();
  let running: Promise<void> | undefined;

  const lose = () => {
    const wasConnected = connected;
    connected = false;
    if (wasConnected) registry.reset();
  };
  const run = async (): Promise<void> => {
    let delayMs = RECONNECT_DELAY_MS_MIN;
    let warned = false;
    while (!closing.signal.aborted) {
      await listen({
        sql,
        channel: CHANNEL,
        onListening() {
          connected = true;
          registry.reset();
          delayMs = RECONNECT_DELAY_MS_MIN;
          warned = false;
          firstAttempt.resolve();
        },
        onNotification: registry.receive,
        onLost: lose,
        signal: closing.signal,
      }).catch((error: unknown) => {
        if (!warned) log.warn({ err: error }, 'no notifications of changed rows: caches are bypassed');
        warned = true;
      });
      lose();
      firstAttempt.resolve();
      await sleep(delayMs, closing.signal);
      delayMs = Math.min(RECONNECT_DELAY_MS_MAX, delayMs * 2);
    }
  };

  return {
    subscribe: registry.subscribe,
    /** Resolves after the first attempt to connect, successful or not; further attempts follow in the background. */
    start(): Promise<void> {
      running ??= run();
      return firstAttempt.promise;
    },
    async close(): Promise<void> {
      closing.abort();
      await running;
    },
    /** Whether notifications arrive. While they do not, caches must be bypassed. */
    connected: () => connected,
  };
}

function createRegistry(log: Log) {
  const subscribers: Subscriber[] = [];
  /** An error of one subscriber does not affect the others. */
  const notify = (topic: string, call: () => void) => {
    try {
      call();
    } catch (error) {
      log.error({ err: error, topic }, 'a cache could not be invalidated');
    }
  };
  return {
    /** `onKey` is called for each change, `onReset` when notifications may have been lost. */
    subscribe(topic: string, onKey: (key: string) => void, onReset: () => void) {
      subscribers.push({ topic, onKey, onReset });
    },
    receive(payload: string) {
      const colon = payload.indexOf(':');
      const topic = payload.slice(0, colon);
      const key = payload.slice(colon + 1);
      for (const subscriber of subscribers) {
        if (subscriber.topic === topic) notify(topic, () => subscriber.onKey(key));
      }
    },
    reset() {
      for (const { topic, onReset } of subscribers) notify(topic, onReset);
    },
  };
}
