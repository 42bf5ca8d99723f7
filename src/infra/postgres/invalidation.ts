/** Invalidation of caches by notifications of changed rows, from all processes. */
import type { Logger } from '../../core/logger.ts';
import { sleep } from '../../core/wait.ts';
import type { Sql } from './client.ts';
import { ConnectionLost, withDeadline } from './unavailable.ts';

/** Triggers call `pg_notify('atrium_invalidate', 'topic:key')`; the probe of a connection uses the empty topic. */
const CHANNEL = 'atrium_invalidate';
const RECONNECT_MS_MIN = 100;
const RECONNECT_MS_MAX = 2_000;
const PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 2_000;

type Subscriber = { topic: string; onKey: (key: string) => void; onReset: () => void };

export type Invalidation = ReturnType<typeof createInvalidation>;

/**
 * `connected` becomes false at once when the connection is closed, and within 3 s when the server hangs or the network
 * drops packets. Subscribers are reset at each loss and at each connection.
 */
export function createInvalidation({ sql, log }: { sql: Pick<Sql, 'reserve'>; log: Logger }) {
  const subscribers: Subscriber[] = [];
  const closing = new AbortController();
  const firstAttempt = Promise.withResolvers<void>();
  let connected = false;
  let probe = { payload: '', arrive: () => {} };
  let running: Promise<void> | undefined;

  /** An error of one subscriber does not affect the others. */
  const notify = (of: readonly Subscriber[], call: (subscriber: Subscriber) => void): void => {
    for (const subscriber of of)
      try {
        call(subscriber);
      } catch (error) {
        log.error({ err: error, topic: subscriber.topic }, 'a cache could not be invalidated');
      }
  };
  const receive = (payload: string): void => {
    const [topic = ''] = payload.split(':', 1);
    if (payload === probe.payload) probe.arrive();
    const concerned = subscribers.filter((each) => each.topic === topic);
    notify(concerned, ({ onKey }) => onKey(payload.slice(topic.length + 1)));
  };
  const setConnected = (now: boolean): void => {
    const changes = now || connected;
    connected = now;
    if (changes) notify(subscribers, ({ onReset }) => onReset());
  };

  /** Ends when the service closes; rejects when the connection is lost, silent or cannot be opened. */
  const listen = async (onConnected: () => void): Promise<void> => {
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    const connection = sql.reserve({
      onNotification: (_, payload) => receive(payload),
      onLost() {
        setConnected(false);
        lost.reject(new ConnectionLost());
      },
    });
    try {
      await connection.unsafe(`listen ${CHANNEL}`);
      setConnected(true);
      onConnected();
      while (!closing.signal.aborted) {
        await Promise.race([sleep(PROBE_INTERVAL_MS, closing.signal), lost.promise]);
        const { promise, resolve } = Promise.withResolvers<void>();
        probe = { payload: `:${crypto.randomUUID()}`, arrive: resolve };
        const sent = connection`select pg_notify(${CHANNEL}, ${probe.payload})`;
        const silent = () => new Error('the listening connection is silent');
        await withDeadline(
          Promise.race([Promise.all([sent, promise]), lost.promise]),
          PROBE_TIMEOUT_MS,
          silent,
        );
      }
    } finally {
      connection.release();
      setConnected(false);
    }
  };
  const run = async (): Promise<void> => {
    let pauseMs = RECONNECT_MS_MIN;
    let warned = false;
    while (!closing.signal.aborted) {
      const attempt = listen(() => {
        pauseMs = RECONNECT_MS_MIN;
        warned = false;
        firstAttempt.resolve();
      });
      await attempt.catch((error: unknown) => {
        if (!warned) log.warn({ err: error }, 'no notifications of changed rows: caches are bypassed');
        warned = true;
      });
      firstAttempt.resolve();
      await sleep(pauseMs, closing.signal);
      pauseMs = Math.min(RECONNECT_MS_MAX, pauseMs * 2);
    }
  };

  return {
    /** `onKey` is called for each change, `onReset` when notifications may have been lost. */
    subscribe(topic: string, onKey: (key: string) => void, onReset: () => void): void {
      subscribers.push({ topic, onKey, onReset });
    },
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
