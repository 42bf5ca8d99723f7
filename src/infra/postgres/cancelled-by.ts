/**
 * Statements that end at the server when their caller has left.
 *
 * postgres.js would cancel whatever the connection runs when its request arrives, which may be the next caller's statement. Here the
 * server is asked when the statement began that the connection runs, and cancels it only while it is that one. Between its
 * look and its signal are some microseconds: a statement that begins in them fails in place of ours, as unavailable.
 */
import { setImmediate } from 'node:timers/promises';
import { sleep } from '../../core/wait.ts';
import { isQuery, type Query } from './query-timeout.ts';
import type { Transaction } from './sql-with-timeout.ts';

/** Pauses between looks at a statement that is not begun yet, or not ended after it was cancelled. */
const LOOK_MS_MIN = 10;
const LOOK_MS_MAX = 1000;

/**
 * The same client, whose statements (of the tag function alone) reject with the signal's reason once it has aborted, and those that
 * are begun by then with the server's 57014, as soon as it has cancelled them. `canceller`: a client with connections of its own.
 */
export function cancelledBy(sql: Transaction, signal: AbortSignal, canceller: Transaction): Transaction {
  const call = (...args: unknown[]): unknown => {
    const value: unknown = Reflect.apply(sql, undefined, args);
    return isQuery(value) ? withCancellation(value, signal, canceller) : value;
  };
  return Object.assign(call, sql) as unknown as Transaction;
}

/** A fragment of another statement is never started. */
function withCancellation(query: Query, signal: AbortSignal, canceller: Transaction): Query {
  const start = query.handle;
  let state: 'new' | 'started' | 'refused' = 'new';
  query.handle = () => {
    if (state === 'new') {
      state = signal.aborted ? 'refused' : 'started';
      if (signal.aborted) query.reject(signal.reason);
      else watch(query, signal, canceller);
    }
    return state === 'started' ? start.call(query) : undefined;
  };
  return query;
}

function watch(query: Query, signal: AbortSignal, canceller: Transaction): void {
  const over = new AbortController();
  const leave = (): void => {
    // Where the server is out of reach, the time-out of the statement ends it.
    cancel(query, over.signal, canceller).catch(() => undefined);
  };
  const end = (): void => {
    signal.removeEventListener('abort', leave);
    over.abort();
  };
  signal.addEventListener('abort', leave, { once: true });
  // `then` of Promise itself, because that of the query would start it.
  Promise.prototype.then.call(query, end, end);
}

async function cancel(query: Query, over: AbortSignal, canceller: Transaction): Promise<void> {
  for (let lookMs = LOOK_MS_MIN; ; lookMs = Math.min(2 * lookMs, LOOK_MS_MAX)) {
    // An answer that has already arrived is processed before the cancellation.
    await setImmediate();
    if (over.aborted) return;
    if (query.state !== null && query.active) await cancelRunning(query.state, over, canceller);
    // It waits for a connection or behind others on one, is on its way to the server, or is ending there.
    await sleep(lookMs, over);
  }
}

async function cancelRunning({ pid }: { pid: number }, over: AbortSignal, canceller: Transaction) {
  const [running] = await canceller<{ since: string }[]>`
    SELECT query_start::text AS since FROM pg_stat_activity WHERE pid = ${pid} AND state = 'active'`;
  await setImmediate();
  if (over.aborted || running === undefined) return;
  await canceller`
    SELECT pg_cancel_backend(pid) FROM pg_stat_activity
    WHERE pid = ${pid} AND state = 'active' AND query_start = ${running.since}::text::timestamptz`;
}
