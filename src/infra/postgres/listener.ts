/** A connection that listens to a channel, with a probe that verifies that notifications arrive. */
import type { Reserved, Sql } from './client.ts';
import { withDeadline } from './unavailable.ts';

const PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 2_000;

type Options = {
  sql: Pick<Sql, 'reserve'>;
  channel: string;
  /** Called once later notifications will be received. */
  onListening: () => void;
  onNotification: (payload: string) => void;
  /** Called once, when the loss is detected. */
  onLost: () => void;
  signal: AbortSignal;
};

/**
 * Resolves when `signal` aborts; rejects when no connection can be opened, or when it is closed or silent. Silence is
 * detected by a probe: a notification to itself, every second, that has to arrive within 2 s.
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
    /** Whether the notification is a probe, of this or of another process. */
    hear(payload: string): boolean {
      if (payload === expected) heard();
      return payload.startsWith(':');
    },
    /** Rejects when the probe does not arrive in time. While one is under way, further calls do nothing. */
    async send(connection: Reserved): Promise<void> {
      if (expected !== '') return;
      expected = `:${crypto.randomUUID()}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      heard = resolve;
      const arrived = Promise.all([connection.notify(channel, expected), promise]);
      await withDeadline(arrived, PROBE_TIMEOUT_MS, () => new Error('the listening connection is silent'));
      expected = '';
    },
  };
}
