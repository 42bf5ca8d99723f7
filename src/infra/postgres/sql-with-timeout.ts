/** postgres.js' tag function with every statement limited in time. */
import type { ISql } from 'postgres';
import { isQuery, type StatementTimeout, withStatementTimeout } from './query-timeout.ts';

type Types = { bigint: bigint | number };

/** Statements, helpers and fragments. What takes a `Transaction` takes the pool as well. */
export type Transaction = ISql<Types>;

/** Calls `target` for each statement, because the pool may be replaced. */
export function sqlWithTimeout(target: () => { sql: ISql; statementTimeout: StatementTimeout }): Transaction {
  const statement = (make: (sql: ISql) => unknown): unknown => {
    const { sql, statementTimeout } = target();
    const value = make(sql);
    return isQuery(value) ? withStatementTimeout(value, statementTimeout) : value;
  };
  const call = (...args: unknown[]) => statement((sql) => Reflect.apply(sql, undefined, args));
  const { types, typed, array, json } = target().sql;
  const members = {
    types,
    typed,
    array,
    json,
    unsafe: (...args: Parameters<ISql['unsafe']>) => statement((sql) => sql.unsafe(...args)),
    file: (...args: Parameters<ISql['file']>) => statement((sql) => sql.file(...args)),
    notify: (channel: string, payload: string) =>
      statement((sql) => sql`select pg_notify(${channel}, ${payload})`),
  };
  return Object.assign(call, members) as unknown as Transaction;
}
