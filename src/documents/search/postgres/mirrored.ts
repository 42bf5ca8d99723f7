// What a mirror of the documents needs of Postgres to answer exactly: what it may not have yet, and the records.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import { shownColumns } from '../../rows.ts';
import { ORDER_NAME_BYTES_MAX } from '../meilisearch/document.ts';
import { INDEX_VERSION } from '../meilisearch/settings.ts';
import type { SearchQuery } from '../query.ts';
import { countClasses } from './counting.ts';
import { all } from './fragments.ts';
import { KEYS } from './ordering.ts';
import type { Prepared } from './prepared.ts';
import type { Sizes } from './sizes.ts';
import { inBranches, termTests, textsOfRow, within } from './statements.ts';

/** Keys of a document in the query's order: normalised text, milliseconds, bytes. */
export type Keyed = { id: string; keys: (string | number | null)[] };

export type MirrorState = {
  indexUid: string;
  /** The last task of the search server after which changes left the outbox. */
  task: number;
  /** Of so few documents that Postgres reads all of them. */
  small: boolean;
  /** By name, and the workspace has some that the mirror holds only the beginning of. */
  longNames: boolean;
  /** Documents whose last change the mirror may lack, and which of them match the query. */
  pending: string[];
  matching: Keyed[];
};

type Found = ShownDocument[] | undefined;

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

export function createMirrored(sql: Transaction, sizes: Sizes) {
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
      const { query, place, size, selections } = prepared;
      const { workspaceId } = query.viewer;
      const inClasses = size === undefined ? countClasses(sql, selections) : sql`NULL`;
      const byName = query.order.some(({ attribute }) => attribute === 'name')
        ? sql`EXISTS (SELECT FROM document_search s WHERE s.workspace_id = ${workspaceId}
            AND octet_length(s.name) > ${sql.unsafe(`${ORDER_NAME_BYTES_MAX}`)})`
        : sql`false`;
      const fromMirror = sql`FROM search_mirror mirror WHERE mirror.ready AND mirror.version = ${INDEX_VERSION}`;
      const columns = sql`mirror.index_uid AS "indexUid", mirror.task, ${byName} AS "longNames", ${inClasses}::float8 AS "inClasses"`;
      type Row = MirrorState & { inClasses: number | null };
      // Mostly nothing waits, which is seen by a statement that costs a third of the other.
      const [quick] = await sql<(Row & { waits: boolean })[]>`
        SELECT ${columns}, EXISTS (SELECT FROM search_outbox WHERE workspace_id = ${workspaceId}) AS waits,
          '{}'::uuid[] AS pending, '[]'::jsonb AS matching ${fromMirror}`;
      if (quick?.waits !== true) return known(quick);
      const [row] = await sql<Row[]>`
        WITH pending AS MATERIALIZED (
          SELECT document_id FROM search_outbox WHERE workspace_id = ${workspaceId} LIMIT ${pendingMax + 1}),
        matching AS (
          SELECT s.id, ${keysOf(sql, query)} AS keys
          FROM ${rows(prepared, sql`ARRAY (SELECT document_id FROM pending)`)} WHERE ${matches(prepared)})
        SELECT ${columns}, ARRAY (SELECT document_id FROM pending) AS pending,
          coalesce((SELECT jsonb_agg(jsonb_build_object('id', id, 'keys', keys)) FROM matching), '[]') AS matching ${fromMirror}`;
      return known(row);

      function known(found: Row | undefined): MirrorState | undefined {
        if (found === undefined || found.pending.length > pendingMax) return undefined;
        if (found.inClasses !== null) sizes.learn(place, found.inClasses);
        return { ...found, small: sizes.of(place) === 'small' };
      }
    },

    /**
     * The records, in the order given; undefined when one of them has ceased to match the query. Where words are not `spelt`, also when one has
     * changed since `state`, or may have: what has changed waits in the outbox until a later task is done.
     */
    async read(prepared: Prepared, ids: readonly string[], state: MirrorState): Promise<Found> {
      if (ids.length === 0) return [];
      const unchanged =
        prepared.query.text === undefined || prepared.text !== undefined
          ? sql`true`
          : sql`NOT EXISTS (SELECT FROM search_outbox WHERE document_id = s.id)
              AND EXISTS (SELECT FROM search_mirror WHERE index_uid = ${state.indexUid} AND task = ${state.task})`;
      const documents = await sql<ShownDocument[]>`
        SELECT ${shownColumns(sql)} FROM (
          SELECT s.id AS found FROM ${rows(prepared, sql`${ids as string[]}::uuid[]`)}
          WHERE ${matches(prepared)} AND ${unchanged} OFFSET 0) page
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
