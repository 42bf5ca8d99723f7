/** One connection that listens to a channel, for as long as notifications demonstrably arrive over it. */
import type { Reserved, Sql } from './client.ts';
import { withDeadline } from './unavailable.ts';

const PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 2_000;

type Options = {
  sql: Pick<Sql, 'reserve'>;
  channel: string;
  /** Notifications sent from now on are received. */
  onListening: () => void;
  onNotification: (payload: string) => void;
  /** Called once, in the moment that the loss is seen. */
  onLost: () => void;
  signal: AbortSignal;
};

/**
 * Resolves when `signal` aborts; rejects when no connection can be had, or when it is lost: closed, or silent. The
 * latter is found out by a notification to ourselves, every second, that does not come back within 2 s.
 */
export async function listen({
  sql,
  channel,
  onListening,
  onNotification,
  onLost,
  signal,
}: Options): Promise<void> {
  const over = Promise.withResolvers<void>();
  const lose = (error: Error) => {
    onLost();
    over.reject(error);
  };
  const probe = createProbe(channel);
  const connection = sql.reserve({
    onNotification: (_channel, payload) => probe.hear(payload) || onNotification(payload),
    onLost: () => lose(new Error('the listening connection was closed')),
  });
  const stop = () => over.resolve();
  signal.addEventListener('abort', stop);
  let timer: ReturnType<typeof setInterval> | undefined;
  try {
    await Promise.race([connection.unsafe(`listen ${channel}`), over.promise]);
    if (signal.aborted) return;
    onListening();
    timer = setInterval(() => void probe.send(connection).catch(lose), PROBE_INTERVAL_MS);
    await over.promise;
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', stop);
    connection.release();
  }
}

function createProbe(channel: string) {
  let expected = '';
  let heard = () => {};
  return {
    /** Whether the notification is a probe, of ours or of another process. */
    hear(payload: string): boolean {
      if (payload === expected) heard();
      return payload.startsWith(':');
    },
    /** Rejects when the probe does not come back in time. One at a time: further calls do nothing. */
    async send(connection: Reserved): Promise<void> {
      if (expected !== '') return;
      expected = `:${crypto.randomUUID()}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      heard = resolve;
      const silence = () => new Error('the listening connection is silent');
      await withDeadline(
        Promise.all([connection.notify(channel, expected), promise]),
        PROBE_TIMEOUT_MS,
        silence,
      );
      expected = '';
    },
  };
}
