/**
 * The pool behind the client, replaced as a whole when a connection of it is lost.
 *
 * A connection object of postgres.js that was lost amid a statement keeps parts of it: its next statement may fail
 * with the old error, or never be sent. And while the server is away, waiting statements fail one by one, each after
 * an attempt of its own. A fresh pool has neither trouble and costs some microseconds.
 */

import type postgres from 'postgres';
import { endsWithin } from '../../core/wait.ts';
import type { PendingQuery, StatementTimeout } from './query-timeout.ts';
import type { TransactionOptions } from './transaction.ts';
import { isConnectionLost } from './unavailable.ts';

type Log = { info(fields: object, message: string): void; warn(fields: object, message: string): void };

type Options = {
  connect: () => postgres.Sql;
  /** Connections apart, for transactions alone: see `TRANSACTIONS_MAX` in the client. */
  connectForTransactions: () => postgres.Sql;
  transactionsMax: number;
  log: Log;
  /** Called with each error that the server answered. */
  onServerError: (error: unknown) => void;
  /** How long a statement may take, the wait for a connection included; 0: no limit. */
  timeoutMs: number;
  /** Statements that run or wait at once; more are refused. */
  pendingMax: number;
};

/** For the statements of a replaced pool whose connections are fine. */
const RETIREMENT_SECONDS_MAX = 30;

export type Generation = {
  sql: postgres.Sql;
  /** Begins transactions. */
  begin: postgres.Sql['begin'];
  pending: Set<PendingQuery>;
  /** For the statements that go to the pool. */
  statementTimeout: StatementTimeout;
  /** For transactions: each holds a connection for as long as it runs. */
  transactions: Pick<TransactionOptions, 'onBegun' | 'onOver' | 'onFailure' | 'onNotBegun' | 'onSilence'>;
  end(timeoutSeconds: number): Promise<void>;
};

export function createPool(options: Options) {
  const { connect, connectForTransactions, transactionsMax, log, onServerError, timeoutMs, pendingMax } =
    options;
  let available = true;
  let closed = false;
  /** The replaced ones, for as long as statements of theirs may run. */
  const retired = new Map<Set<PendingQuery>, Promise<void>>();

  const retire = ({ end, pending }: Generation, timeoutSeconds: number) => {
    const ended = end(timeoutSeconds).finally(() => retired.delete(pending));
    retired.set(pending, ended);
  };

  const createGeneration = (): Generation => {
    const sql = connect();
    const apart = connectForTransactions();
    const pending = new Set<PendingQuery>();
    let answeredAt = performance.now();
    let transactionsRunning = 0;
    const replace = (error: unknown, timeoutSeconds: number) => {
      if (closed || current !== generation) return;
      current = createGeneration();
      retire(generation, timeoutSeconds);
      for (const query of pending) query.drop(error);
      if (available) log.warn({ err: error }, 'the database is unavailable');
      available = false;
    };
    const onAnswer = () => {
      answeredAt = performance.now();
      if (!available) log.info({}, 'the database is available again');
      available = true;
    };
    const onFailure = (error: unknown) => {
      if (isConnectionLost(error)) replace(error, timeoutMs > 0 ? timeoutMs / 1000 : RETIREMENT_SECONDS_MAX);
      else if (error instanceof Error && 'severity' in error) {
        answeredAt = performance.now();
        onServerError(error);
      }
    };
    const onSilence = (error: unknown) => replace(error, 0);
    const generation: Generation = {
      sql,
      begin: ((work: never) => apart.begin(work)) as postgres.Sql['begin'],
      pending,
      async end(timeoutSeconds) {
        await Promise.all([sql, apart].map((each) => each.end({ timeout: timeoutSeconds })));
      },
      statementTimeout: {
        ...{ timeoutMs, pending, onAnswer, onFailure, onSilence },
        refusal: () => (pending.size < pendingMax ? undefined : tooManyPending(pendingMax)),
      },
      transactions: {
        ...{ onFailure, onSilence },
        onBegun() {
          transactionsRunning += 1;
          onAnswer();
        },
        onOver() {
          transactionsRunning -= 1;
        },
        onNotBegun(error) {
          const busy = transactionsRunning >= transactionsMax || answeredAt > performance.now() - timeoutMs;
          if (!busy) onSilence(error);
        },
      },
    };
    return generation;
  };
  let current = createGeneration();

  return {
    current: () => current,
    async end(timeoutSeconds: number): Promise<void> {
      closed = true;
      const ended = current.end(timeoutSeconds);
      // An idle pool that lost a connection would wait for its time-out.
      const busy = [...retired].filter(([pending]) => pending.size > 0).map(([, end]) => end);
      await endsWithin(Promise.all([ended, ...busy]), timeoutSeconds * 1000);
    },
  };
}

function tooManyPending(pendingMax: number): Error {
  return Object.assign(new Error(`More than ${pendingMax} statements wait for the database`), {
    code: '53000',
  });
}
