/** postgres.js' tag function whose statements are sent by ours: its own pool is not used. */
import type { ISql } from 'postgres';
import type { TraceContext } from '../../core/trace-context.ts';
import { currentTrace } from '../../core/tracing.ts';

/** Statements, helpers and fragments. What takes a `Transaction` takes the pool as well. */
export type Transaction = ISql<{ bigint: bigint | number }>;

/** A piece of a statement, with its parameters. */
export type Fragment = ReturnType<Transaction['unsafe']>;

/** The used part of postgres.js' query object: a promise that sends itself when it is first awaited. */
export type Query = Promise<unknown> & {
  /** Called once, to send the statement. A fragment of another statement is never sent. */
  handler: (query: Query) => unknown;
  reject: (error: unknown) => void;
  /** The connection that it was sent over; null before. */
  state: { pid: number } | null;
  forEachFn?: (row: unknown, result: unknown[]) => void;
  /** The text with placeholders; null before the statement was built. */
  statement: { string: string } | null;
  /** Ours: the place in its trace of the work that made it, because an awaited promise is begun outside of its caller's context. */
  trace?: TraceContext | undefined;
  /** Ours: the caller leaves when it aborts. */
  signal?: AbortSignal;
};

const isQuery = (value: unknown): value is Query =>
  value instanceof Promise && 'handler' in value && 'strings' in value;

/** A tag function that builds statements as `client` does, and has `run` send them. */
export function createTag(client: ISql, run: (query: Query) => void): Transaction {
  const own = <T>(made: T): T => {
    if (!isQuery(made)) return made;
    made.trace = currentTrace();
    made.handler = run;
    return made;
  };
  const call = (...args: unknown[]) => own(Reflect.apply(client, undefined, args));
  const { json, array } = client;
  const unsafe: ISql['unsafe'] = (...args) => own(client.unsafe(...args));
  return Object.assign(call, { json, array, unsafe }) as unknown as Transaction;
}

/** The same client, whose statements fail with the signal's reason once it has aborted, and end at the server. */
export function cancelledBy(sql: Transaction, signal: AbortSignal): Transaction {
  const call = (...args: unknown[]): unknown => {
    const made: unknown = Reflect.apply(sql, undefined, args);
    if (isQuery(made)) made.signal = signal;
    return made;
  };
  return Object.assign(call, sql) as unknown as Transaction;
}
