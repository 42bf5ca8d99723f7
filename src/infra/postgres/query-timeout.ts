/**
 * The time-out of a statement at its caller.
 *
 * The server's own limit (statement_timeout) has no effect when the server hangs or the network drops packets, and
 * postgres.js waits for an answer, or for a free connection, without limit.
 */
import type { TraceContext } from '../../core/trace-context.ts';
import { currentTrace } from '../../core/tracing.ts';
import { endStatementSpan, startStatementSpan } from './statement-span.ts';
import { ConnectionLost, DatabaseTimeout, markDatabaseError } from './unavailable.ts';

/** The used part of postgres.js' query object, a promise that starts its work when it is first awaited. */
export type Query = Promise<unknown> & {
  /** Called by `then`, `execute` and the like; starts the work. */
  handle: () => unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** Removes a statement that was not sent yet from the queue. */
  cancel: () => void;
  /** The connection the statement was sent over; null before. */
  state: { pid: number } | null;
  /** Whether it is the first on its connection that has not ended. */
  active: boolean;
  /** A template, or a list of one text. */
  strings: readonly string[];
  /** Values and fragments between the strings. */
  args: readonly unknown[];
  /** `prepare`: whether the connection keeps the statement. */
  options: { prepare?: boolean };
  /** The text with placeholders; null before the statement was built. */
  statement: { string: string } | null;
  cursorFn?: unknown;
  /** What becomes of each row. */
  forEachFn?: (row: unknown, result: unknown[]) => void;
};

export type StatementTimeout = {
  /** 0: no limit. */
  timeoutMs: number;
  /** An error that the statement fails with instead of being started. */
  refusal: () => Error | undefined;
  /** Whether the connection prepares the statement. Default: each. */
  isPrepared?: ((query: Query) => boolean) | undefined;
  /** The statements that have started and not ended; absent in a transaction, which has its own queue. */
  pending?: Set<PendingQuery>;
  onAnswer: () => void;
  onFailure: (error: unknown) => void;
  /** The statement was sent, and its connection has been silent for the whole time. */
  onSilence: (error: DatabaseTimeout) => void;
};

/** A statement that was started. */
export type PendingQuery = {
  /** Rejects it if it was not sent yet. */
  drop: (error: unknown) => void;
  /** The connection that it was sent over; null before. */
  connection: () => object | null;
};

/** When each connection answered last. Its key is postgres.js' own record of the connection. */
const answeredAt = new WeakMap<object, number>();

/** Whether the value is a statement, and not a helper for a part of one. */
export const isQuery = (value: unknown): value is Query =>
  value instanceof Promise && 'handle' in value && 'reject' in value && 'state' in value;

/**
 * Applies the time-out from the start of the statement. A fragment of another statement is never started, and there are many more of these:
 * whatever can wait for the start does.
 */
export function withStatementTimeout<Q extends Query>(query: Q, statementTimeout: StatementTimeout): Q {
  const start = query.handle;
  // Here, because a promise that is awaited is begun outside its caller's context.
  const trace = currentTrace();
  let state: 'new' | 'started' | 'refused' = 'new';
  query.handle = () => {
    if (state === 'new') {
      const refusal = statementTimeout.refusal();
      state = refusal === undefined ? 'started' : 'refused';
      if (refusal === undefined) {
        query.forEachFn ??= appendRow;
        if (statementTimeout.isPrepared?.(query) === false) query.options.prepare = false;
        refuseForeignResult(query);
        watch(query, statementTimeout, trace);
      } else query.reject(refusal);
    }
    return state === 'started' ? start.call(query) : undefined;
  };
  return query;
}

/**
 * postgres.js 3.4 counts rows by connection and resets the count only where a statement succeeds, so that after one that
 * failed amid its rows the next result would begin with as many gaps (porsager/postgres#1181).
 */
const appendRow = (row: unknown, result: unknown[]): void => {
  result.push(row);
};

/**
 * A statement that begins between the failure of a socket and its end stays with the connection object of postgres.js 3.4.9, which
 * takes the end of the next connection's start for its answer (`closed` and `ReadyForQuery` in its connection.js). Such a result is
 * empty, and has no command: the server never had the statement.
 */
function refuseForeignResult(query: Query): void {
  const { resolve } = query;
  query.resolve = (result) => {
    const isForeign = query.cursorFn === undefined && Array.isArray(result) && commandOf(result) === null;
    if (isForeign) query.reject(new ConnectionLost());
    else resolve(result);
  };
}

/** The command tag of a result; undefined where it is that of several statements. */
const commandOf = (result: unknown[] & { command?: unknown }): unknown => result.command;

function watch(query: Query, statementTimeout: StatementTimeout, trace: TraceContext | undefined): void {
  const span = startStatementSpan(trace);
  const { timeoutMs, pending } = statementTimeout;
  const startedAt = performance.now();
  const entry: PendingQuery = {
    connection: () => query.state,
    drop(error) {
      if (query.state !== null) return;
      query.reject(error);
      query.cancel();
    },
  };
  const expire = () => {
    const error = new DatabaseTimeout(timeoutMs);
    if (query.state !== null && (answeredAt.get(query.state) ?? 0) < startedAt)
      statementTimeout.onSilence(error);
    if (pending !== undefined) entry.drop(error);
    query.reject(error);
  };
  // A cursor has no time-out, because its consumer determines its duration.
  const limited = timeoutMs > 0 && query.cursorFn === undefined;
  const timer = limited ? setTimeout(expire, timeoutMs) : undefined;
  const end = (answered: boolean) => {
    clearTimeout(timer);
    pending?.delete(entry);
    if (answered && query.state !== null) answeredAt.set(query.state, performance.now());
  };
  pending?.add(entry);
  // `then` of Promise itself, because that of the query would start it.
  Promise.prototype.then.call(
    query,
    () => {
      end(true);
      if (span !== undefined) endStatementSpan(span, query.statement?.string);
      statementTimeout.onAnswer();
    },
    (error: unknown) => {
      // An error of the server is also an answer.
      end(error instanceof Error && 'severity' in error);
      markDatabaseError(error);
      if (span !== undefined) endStatementSpan(span, query.statement?.string, error);
      statementTimeout.onFailure(error);
    },
  );
}
