/** A dedicated connection, for state that belongs to a session: session locks, LISTEN. */
import type postgres from 'postgres';
import { sqlWithTimeout, type Transaction } from './sql-with-timeout.ts';
import { ConnectionLost } from './unavailable.ts';

export type ReserveOptions = {
  /** Statements have no time-out. */
  unlimited?: boolean;
  /** Idle time-out after which the server closes the connection; default: none. */
  idleTimeoutMs?: number;
  /** A notification of a channel that the connection listens to. */
  onNotification?: (channel: string, payload: string) => void;
  /** The connection was lost; not called after `release`. */
  onLost?: () => void;
};

export type Reserved = Transaction & {
  /** Closes the connection. */
  release: () => void;
};

/** Does not reconnect as postgres.js would, because locks and subscriptions would be lost without notice. */
export function openReserved(parts: {
  connect: (options: object) => postgres.Sql;
  options: ReserveOptions;
  isLost: (error: unknown) => boolean;
  timeoutMs: number;
}): Reserved {
  const { connect, options, isLost, timeoutMs } = parts;
  let lost: Error | undefined;
  let released = false;
  const release = () => {
    if (released) return;
    released = true;
    void sql.end({ timeout: 0 });
  };
  const lose = (error: Error) => {
    if (released) return;
    lost = error;
    release();
    options.onLost?.();
  };
  const sql = connect({
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    onnotify: options.onNotification ?? (() => {}),
    onclose: () => lose(new ConnectionLost()),
  });
  const statementTimeout = {
    timeoutMs: options.unlimited ? 0 : timeoutMs,
    refusal: () => lost,
    onAnswer: () => {},
    onFailure(error: unknown) {
      if (isLost(error)) lose(new ConnectionLost({ cause: error }));
    },
    onSilence: lose,
  };
  return Object.assign(
    sqlWithTimeout(() => ({ sql, statementTimeout })),
    { release },
  );
}
