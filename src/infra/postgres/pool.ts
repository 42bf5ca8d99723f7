/**
 * The pool of the client, which is replaced as a whole when one of its connections is lost.
 *
 * A connection object of postgres.js that was lost during a statement keeps parts of its state: the next statement may
 * fail with the old error, or never be sent. During an outage, waiting statements fail one by one, each after its own
 * attempt. A new pool has neither problem, and costs some microseconds.
 */

import type postgres from 'postgres';
import type { Logger } from '../../core/logger.ts';
import { endsWithin } from '../../core/wait.ts';
import { createPreparedForms } from './prepared-forms.ts';
import type { PendingQuery, StatementTimeout } from './query-timeout.ts';
import type { TransactionOptions } from './transaction.ts';

type Options = {
  connect: () => postgres.Sql;
  /** Separate connections for transactions; the client's `TRANSACTIONS_MAX` says why. */
  connectForTransactions: () => postgres.Sql;
  connectionsMax: number;
  transactionsMax: number;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Whether the error means that its server is not to be used any longer. */
  isLost: (error: unknown) => boolean;
  /** Called with each error that the server answered. */
  onServerError: (error: unknown) => void;
  /** How long a statement may take, the wait for a connection included; 0: no limit. */
  timeoutMs: number;
  /** Statements that run or wait at once; more are refused. */
  pendingMax: number;
  /** Whether callers determine the form of statements, as `createPreparedForms` says. */
  manyForms: boolean;
};

/** Time for statements on healthy connections of a replaced pool. */
const RETIREMENT_SECONDS_MAX = 30;

/** What the connections of a pool do now. */
export type PoolUse = {
  /** Connections that run statements or transactions. */
  busy: number;
  /** The most that it opens. */
  max: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
};

export type Generation = {
  sql: postgres.Sql;
  begin: postgres.Sql['begin'];
  pending: Set<PendingQuery>;
  use(): Omit<PoolUse, 'max'>;
  statementTimeout: StatementTimeout;
  /** The hooks of transactions, each of which holds a connection while it runs. */
  transactions: Pick<TransactionOptions, 'onBegun' | 'onOver' | 'onFailure' | 'onNotBegun' | 'onSilence'>;
  end(timeoutSeconds: number): Promise<void>;
};

export function createPool(options: Options) {
  const { connect, connectForTransactions, connectionsMax, transactionsMax, log, isLost, onServerError } =
    options;
  const { timeoutMs, pendingMax, manyForms } = options;
  let available = true;
  let closed = false;
  /** The replaced pools, while their statements may still run. */
  const retired = new Map<Set<PendingQuery>, Promise<void>>();

  const retire = ({ end, pending }: Generation, timeoutSeconds: number) => {
    const ended = end(timeoutSeconds).finally(() => retired.delete(pending));
    retired.set(pending, ended);
  };

  const createGeneration = (): Generation => {
    const sql = connect();
    const forTransactions = connectForTransactions();
    const pending = new Set<PendingQuery>();
    let answeredAt = performance.now();
    let transactionsRunning = 0;
    let transactionsAsked = 0;
    const replace = (error: unknown, timeoutSeconds: number) => {
      if (closed || current !== generation) return;
      current = createGeneration();
      retire(generation, timeoutSeconds);
      for (const query of [...pending]) query.drop(error);
      if (available) log.warn({ err: error }, 'the database is unavailable');
      available = false;
    };
    const onAnswer = () => {
      answeredAt = performance.now();
      if (!available) log.info({}, 'the database is available again');
      available = true;
    };
    const onFailure = (error: unknown) => {
      if (isLost(error)) replace(error, timeoutMs > 0 ? timeoutMs / 1000 : RETIREMENT_SECONDS_MAX);
      else if (error instanceof Error && 'severity' in error) {
        answeredAt = performance.now();
        onServerError(error);
      }
    };
    const onSilence = (error: unknown) => replace(error, 0);
    const generation: Generation = {
      sql,
      begin: ((work: never) => {
        transactionsAsked += 1;
        return forTransactions.begin(work).finally(() => {
          transactionsAsked -= 1;
        });
      }) as postgres.Sql['begin'],
      pending,
      use() {
        const connections = [...pending].map(({ connection }) => connection());
        const sent = connections.filter((connection) => connection !== null);
        return {
          busy: new Set(sent).size + transactionsRunning,
          waiting: connections.length - sent.length + Math.max(0, transactionsAsked - transactionsRunning),
        };
      },
      async end(timeoutSeconds) {
        await Promise.all([sql, forTransactions].map((each) => each.end({ timeout: timeoutSeconds })));
      },
      statementTimeout: {
        timeoutMs,
        isPrepared: manyForms ? createPreparedForms() : undefined,
        pending,
        onAnswer,
        onFailure,
        onSilence,
        refusal: () => (pending.size < pendingMax ? undefined : tooManyPending(pendingMax)),
      },
      transactions: {
        onFailure,
        onSilence,
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
    use: (): PoolUse => ({ ...current.use(), max: connectionsMax + transactionsMax }),
    async end(timeoutSeconds: number): Promise<void> {
      closed = true;
      const ended = current.end(timeoutSeconds);
      // Idle replaced pools are not awaited, because one that has lost a connection ends only by its time-out.
      const busy = [...retired].filter(([pending]) => pending.size > 0).map(([, end]) => end);
      await endsWithin(Promise.all([ended, ...busy]), timeoutSeconds * 1000);
    },
  };
}

const tooManyPending = (pendingMax: number): Error =>
  Object.assign(new Error(`More than ${pendingMax} statements wait for the database`), { code: '53000' });
