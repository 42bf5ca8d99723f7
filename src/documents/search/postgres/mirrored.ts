// What a mirror of the documents needs of Postgres to answer exactly: what it may not have yet, and the records.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import { shownColumns } from '../../rows.ts';
import { ORDER_NAME_BYTES_MAX } from '../meilisearch/document.ts';
import { INDEX_VERSION } from '../meilisearch/settings.ts';
import type { SearchQuery } from '../query.ts';
import { all } from './fragments.ts';
import { KEYS } from './ordering.ts';
import type { Prepared } from './prepared.ts';
import { inBranches, termTests, textsOfRow, within } from './statements.ts';

/** Keys of a document in the query's order: normalised text, milliseconds, bytes. */
export type Keyed = { id: string; keys: (string | number | null)[] };

export type MirrorState = {
  indexUid: string;
  /** By name, and the workspace has some that the mirror holds only the beginning of. */
  longNames: boolean;
  /** Documents whose last change the mirror may lack, and which of them match the query. */
  pending: string[];
  matching: Keyed[];
};

/** Whether rows `s` and `t` fulfil everything that a query asks for. */
export const createMatches =
  (sql: Transaction) =>
  ({ query, conditions, rowTests, selections }: Prepared): Fragment =>
    all(sql, [
      inBranches(
        sql,
        query.viewer.workspaceId,
        selections.map(({ branch }) => branch),
      ),
      within(sql, conditions, sql`s.created_at`),
      ...termTests(sql, conditions, sql`s.terms`),
      ...rowTests.map((row) => row.sql),
    ]);

export function createMirrored(sql: Transaction) {
  const matches = createMatches(sql);
  /** Rows `s` of these ids, and `t` where something is asked of it: whatever else is asked, a lasting plan finds them by their ids. */
  const rows = ({ rowTests }: Prepared, ids: Fragment): Fragment =>
    sql`(SELECT * FROM document_search s WHERE s.id = ANY (${ids}) OFFSET 0) s
      ${rowTests.some(({ texts }) => texts) ? sql`JOIN ${textsOfRow(sql)} t ON t.id = s.id` : sql``}`;

  return {
    /**
     * The mirror as one snapshot of the database shows it. Undefined while no index is ready, or when more than
     * `pendingMax` documents of the workspace wait.
     */
    async mirrored(prepared: Prepared, pendingMax: number): Promise<MirrorState | undefined> {
      const { query } = prepared;
      const { workspaceId } = query.viewer;
      const byName = query.order.some(({ attribute }) => attribute === 'name')
        ? sql`EXISTS (SELECT FROM document_search s WHERE s.workspace_id = ${workspaceId}
            AND octet_length(s.name) > ${sql.unsafe(`${ORDER_NAME_BYTES_MAX}`)})`
        : sql`false`;
      const [row] = await sql<(Omit<MirrorState, 'matching'> & { matching: string[]; keys: unknown[] })[]>`
        WITH pending AS MATERIALIZED (
          SELECT document_id FROM search_outbox WHERE workspace_id = ${workspaceId} LIMIT ${pendingMax + 1}),
        matching AS (
          SELECT s.id, ${keysOf(sql, query)} AS keys
          FROM ${rows(prepared, sql`ARRAY (SELECT document_id FROM pending)`)} WHERE ${matches(prepared)})
        SELECT mirror.index_uid AS "indexUid",
          ${byName} AS "longNames",
          ARRAY (SELECT document_id FROM pending) AS pending,
          coalesce((SELECT jsonb_agg(jsonb_build_object('id', id, 'keys', keys)) FROM matching), '[]') AS matching
        FROM search_mirror mirror WHERE mirror.ready AND mirror.version = ${INDEX_VERSION}`;
      if (row === undefined || row.pending.length > pendingMax) return undefined;
      return { ...row, matching: row.matching as unknown as Keyed[] };
    },

    /** The records, in the order given; undefined when one of them has ceased to match the query. */
    async read(prepared: Prepared, ids: readonly string[]): Promise<ShownDocument[] | undefined> {
      if (ids.length === 0) return [];
      const documents = await sql<ShownDocument[]>`
        SELECT ${shownColumns(sql)} FROM (
          SELECT s.id AS found FROM ${rows(prepared, sql`${ids as string[]}::uuid[]`)}
          WHERE ${matches(prepared)} OFFSET 0) page
        JOIN documents d ON d.id = page.found`;
      const byId = new Map(documents.map((document) => [document.id, document]));
      const inOrder = ids.map((id) => byId.get(id));
      return inOrder.every((document) => document !== undefined) ? inOrder : undefined;
    },
  };
}

const keysOf = (sql: Transaction, { order }: SearchQuery): Fragment =>
  order
    .map(({ attribute }) =>
      attribute === 'created_at'
        ? sql`(extract(epoch FROM s.created_at) * 1000)::bigint`
        : sql.unsafe(KEYS[attribute].expression),
    )
    .reduce((sum, key) => sql`${sum} || jsonb_build_array(${key})`, sql`'[]'::jsonb`);
