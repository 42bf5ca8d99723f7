// The order of a page: which columns say it, and how they are compared.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Order } from '../../filter/ast.ts';
import type { ScalarAttribute } from '../../filter/attributes.ts';

/** `texts`: in rows of `document_texts` (t), otherwise of `document_search` (s). */
type Key = { expression: string; nullable?: boolean; texts?: boolean };

export const KEYS: Record<ScalarAttribute, Key> = {
  created_at: { expression: 's.created_at' },
  name: { expression: 's.name' },
  file_size: { expression: 's.file_size', nullable: true },
  file_type: { expression: 's.file_type', nullable: true },
  file_hash: { expression: 's.file_hash', nullable: true },
  owner_id: { expression: 's.owner_id' },
  id: { expression: 's.id' },
  status: {
    expression: `(CASE s.class % 3 WHEN 0 THEN 'public' WHEN 1 THEN 'private' ELSE 'deleted' END) COLLATE "C"`,
  },
  // The bucket leads every location, and changes no order.
  storage_url: { expression: 't.object_key', texts: true },
  summary: { expression: 't.summary', nullable: true, texts: true },
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

/** `ranked`: the column `t.rank` comes before everything else, the highest first. The id, ascending, breaks ties. */
export function toOrdering(sql: Transaction, order: readonly Order[], ranked: boolean): Ordering {
  const keys: (Key & { descending: boolean })[] = [
    ...(ranked ? [{ expression: 't.rank', descending: true }] : []),
    ...order.map(({ attribute, descending }) => ({ ...KEYS[attribute], descending })),
  ];
  const direction = ({ nullable, descending }: (typeof keys)[number], walked: boolean): string =>
    descending ? (nullable && !walked ? 'DESC NULLS LAST' : 'DESC') : 'ASC';
  const list = (items: string[]): Fragment => sql.unsafe(items.join(', '));
  return {
    columns: list(['s.id AS found', ...keys.map(({ expression }, index) => `${expression} AS k${index}`)]),
    walked: list([...keys.map((key, at) => `${key.expression} ${direction(key, at === 0)}`), 's.id']),
    collected: list([...keys.map((key, at) => `k${at} ${direction(key, false)}`), 'found']),
    texts: keys.some((key) => key.texts === true),
  };
}
