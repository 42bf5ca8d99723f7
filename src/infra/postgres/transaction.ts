/**
 * Transactions whose connection may be lost at any point.
 *
 * postgres.js would send the ROLLBACK of a lost transaction to the closed socket, which is an uncaught exception, and it
 * waits without limit for the answer to a BEGIN or COMMIT. Therefore no ROLLBACK is sent for a lost transaction (the server
 * has rolled it back), and its caller gets an error at once.
 */

import type { ISql } from 'postgres';
import { toError } from '../../core/errors.ts';
import { DatabaseTimeout, isConnectionLost, markDatabaseError } from './unavailable.ts';

type Begin = <T>(work: (tx: ISql) => Promise<T>) => Promise<unknown>;

export type TransactionOptions<Tx = unknown, T = unknown> = {
  begin: Begin;
  /** Supervises the transaction's statements. */
  wrap: (tx: ISql, hooks: { refusal: () => Error | undefined; onLost: (error: unknown) => void }) => Tx;
  run: (tx: Tx) => Promise<T>;
  /** For BEGIN (with the wait for a connection) and COMMIT or ROLLBACK; 0: no limit. */
  timeoutMs: number;
  /** BEGIN was answered, so that the transaction has a connection. */
  onBegun: () => void;
  /** The transaction has released its connection. */
  onOver: () => void;
  onFailure: (error: unknown) => void;
  /** BEGIN took too long, because no connection was free, or because the server did not answer. */
  onNotBegun: (error: DatabaseTimeout) => void;
  /** COMMIT or ROLLBACK took too long. */
  onSilence: (error: DatabaseTimeout) => void;
};

/**
 * Runs `run` in a transaction: committed when it resolves, rolled back when it rejects.
 *
 * Rejects with the error of `run`; with the connection's where that was lost; with `DatabaseTimeout` when BEGIN or
 * COMMIT took too long. Where either happens at COMMIT, it is unknown whether the transaction took effect.
 */
export function transact<Tx, T>(options: TransactionOptions<Tx, T>): Promise<T> {
  const { begin, wrap, run, timeoutMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let failure: { error: unknown } | undefined;
  let lost: Error | undefined;
  const lose = (error: unknown) => {
    lost ??= toError(error);
    reject(failure === undefined ? lost : failure.error);
  };
  const limit = (onTimeout: (error: DatabaseTimeout) => void) => {
    const expire = () => {
      const error = new DatabaseTimeout(timeoutMs);
      lose(error);
      onTimeout(error);
    };
    return timeoutMs > 0 ? setTimeout(expire, timeoutMs) : undefined;
  };
  let timer = limit(options.onNotBegun);

  const work = async (raw: ISql): Promise<T> => {
    clearTimeout(timer);
    options.onBegun();
    void promise.then(options.onOver, options.onOver);
    // The caller has its error already; this rolls back on the healthy connection.
    if (lost !== undefined) throw lost;
    let result: T | undefined;
    try {
      result = await run(wrap(raw, { refusal: () => lost, onLost: lose }));
    } catch (error) {
      failure = { error };
    }
    if (lost !== undefined) return await new Promise<never>(() => {});
    timer = limit(options.onSilence);
    if (failure !== undefined) throw failure.error;
    return result as T;
  };
  begin(work)
    .then((value) => resolve(value as T))
    .catch((error: unknown) => {
      if (failure === undefined || failure.error !== error) {
        markDatabaseError(error);
        if (isConnectionLost(error)) lose(error);
        options.onFailure(error);
      }
      reject(failure === undefined ? error : failure.error);
    })
    .finally(() => clearTimeout(timer));
  return promise;
}
