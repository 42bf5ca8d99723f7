// Pieces of SQL, joined.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';

export const all = (sql: Transaction, tests: readonly Fragment[]): Fragment =>
  tests.length === 0 ? sql`true` : tests.reduce((sum, test) => sql`${sum} AND ${test}`);

export const any = (sql: Transaction, tests: readonly Fragment[]): Fragment =>
  tests.length === 0 ? sql`false` : tests.reduce((sum, test) => sql`${sum} OR ${test}`);

export const union = (sql: Transaction, queries: readonly Fragment[]): Fragment =>
  queries.reduce((sum, query) => sql`${sum} UNION ALL ${query}`);
