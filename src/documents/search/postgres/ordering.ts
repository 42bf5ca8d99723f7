// The order of a page: which columns say it, and how they are compared.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Order } from '../../filter/ast.ts';
import type { ScalarAttribute } from '../../filter/attributes.ts';
import { list } from './fragments.ts';

/** `texts`: in rows of `document_texts` (t), otherwise of `document_search` (s). */
type Key = { expression: (sql: Transaction) => Fragment; nullable?: boolean; texts?: boolean };

export const KEYS: Record<ScalarAttribute, Key> = {
  created_at: { expression: (sql) => sql`s.created_at` },
  name: { expression: (sql) => sql`s.name` },
  file_size: { expression: (sql) => sql`s.file_size`, nullable: true },
  file_type: { expression: (sql) => sql`s.file_type`, nullable: true },
  file_hash: { expression: (sql) => sql`s.file_hash`, nullable: true },
  owner_id: { expression: (sql) => sql`s.owner_id` },
  id: { expression: (sql) => sql`s.id` },
  status: {
    expression: (sql) =>
      sql`(CASE s.class % 3 WHEN 0 THEN 'public' WHEN 1 THEN 'private' ELSE 'deleted' END) COLLATE "C"`,
  },
  // The bucket leads every location, and changes no order.
  storage_url: { expression: (sql) => sql`t.object_key`, texts: true },
  summary: { expression: (sql) => sql`t.summary`, nullable: true, texts: true },
};

export type Ordering = {
  /** Columns `k0, k1, …` of a subquery's select list. */
  columns: Fragment;
  /** Orders `s` (and `t`) themselves; for an index that leads with the first key, which then must not be null. */
  walked: Fragment;
  /** Orders the subquery's rows by its columns and `found`. */
  collected: Fragment;
  texts: boolean;
};

/** `rank` comes before everything else, the highest first. The id, ascending, breaks ties. */
export function toOrdering(sql: Transaction, order: readonly Order[], rank: Fragment | undefined): Ordering {
  const keys = [
    ...(rank === undefined ? [] : [{ expression: rank, descending: true }]),
    ...order.map(({ attribute, descending }) => ({
      ...KEYS[attribute],
      expression: KEYS[attribute].expression(sql),
      descending,
    })),
  ];
  const direction = (key: { nullable?: boolean; descending: boolean }, walked: boolean) =>
    key.descending ? (key.nullable && !walked ? sql`DESC NULLS LAST` : sql`DESC`) : sql`ASC`;
  const column = (index: number) => sql`${sql(`k${index}`)}`;
  return {
    columns: list(sql, [
      sql`s.id AS found`,
      ...keys.map((key, index) => sql`${key.expression} AS ${column(index)}`),
    ]),
    walked: list(sql, [
      ...keys.map((key, index) => sql`${key.expression} ${direction(key, index === 0)}`),
      sql`s.id`,
    ]),
    collected: list(sql, [
      ...keys.map((key, index) => sql`${column(index)} ${direction(key, false)}`),
      sql`found`,
    ]),
    texts: keys.some((key) => key.texts === true),
  };
}
