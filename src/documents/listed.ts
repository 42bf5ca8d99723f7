// One page of the bin or of the archive, as the documents table has it.

import type { Transaction } from '../infra/postgres/client.ts';
import { documentColumns } from './columns.ts';
import type { Document } from './document.ts';
import { LIST_BYTES_MAX } from './limits.ts';

export type ListPage = { limit: number; after?: { time: Date; id: string } };

export type ListedDocuments = { documents: Document[]; count: number; more: boolean };

type Fragment = ReturnType<Transaction>;

/** The documents that fulfil the condition, by a column of time, newest first: up to a limit of rows and of bytes. */
export async function readList(
  sql: Transaction,
  page: ListPage,
  order: Fragment,
  condition: Fragment,
): Promise<ListedDocuments> {
  /** About what a record's free-form part takes in an answer. */
  const bytes = sql`(length(coalesce(summary, '')) + length(coalesce(access::text, ''))
    + length(coalesce(slots::text, '')) + length(coalesce(tags::text, '')) + length(coalesce(categories::text, '')))`;
  const after =
    page.after === undefined ? sql`true` : sql`(${order}, id) < (${page.after.time}, ${page.after.id})`;
  const rows = await sql<(Document & { total: number; following: number })[]>`
    WITH page AS (
      SELECT *, sum(${bytes}) OVER (ORDER BY ${order} DESC, id DESC) - ${bytes} AS bytes_before
      FROM documents WHERE ${condition} AND ${after} ORDER BY ${order} DESC, id DESC LIMIT ${page.limit + 1}
    )
    SELECT ${documentColumns(sql)}, (SELECT count(*)::int FROM documents WHERE ${condition}) AS total,
      (SELECT count(*)::int FROM page) AS following
    FROM page WHERE bytes_before < ${LIST_BYTES_MAX} ORDER BY ${order} DESC, id DESC LIMIT ${page.limit}`;
  const count = rows[0]?.total ?? (page.after === undefined ? 0 : await countWhere(sql, condition));
  return { documents: rows, count, more: (rows[0]?.following ?? 0) > rows.length };
}

async function countWhere(sql: Transaction, condition: Fragment): Promise<number> {
  const rows = await sql<{ count: number }[]>`SELECT count(*)::int FROM documents WHERE ${condition}`;
  return rows[0]?.count ?? 0;
}
