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
    return isQuery(value) ? withStatementTimeout(collectRows(value), statementTimeout) : value;
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

/**
 * Appends each row to the result. postgres.js 3.4 counts rows by connection and resets the count only where a statement
 * succeeds, so that after one that failed amid its rows the next result would begin with as many gaps (porsager/postgres#1181).
 */
const collectRows = <Q extends object>(query: Q): Q =>
  Object.assign(query, { forEachFn: (row: unknown, result: unknown[]) => result.push(row) });
