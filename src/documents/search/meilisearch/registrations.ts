// Which indexes of the search server are fed. While there is none the outbox stays empty.

import type { Sql, Transaction } from '../../../infra/postgres/client.ts';

export type Registration = {
  indexUid: string;
  version: string;
  ready: boolean;
  outdated: boolean;
  copiedTo: string;
  serverMadeAt: string | null;
  task: number;
};

export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export type Registrations = ReturnType<typeof createRegistrations>;

export function createRegistrations(sql: Transaction) {
  return {
    list: (): Promise<Registration[]> => sql<Registration[]>`
      SELECT index_uid AS "indexUid", version, ready, outdated, copied_to AS "copiedTo",
        server_made_at AS "serverMadeAt", task
      FROM search_mirror ORDER BY made_at, index_uid`,

    /** Changes that commit from now on, and whose transaction has begun to write after this, are queued for it. */
    async add(indexUid: string, version: string): Promise<void> {
      await sql`INSERT INTO search_mirror (index_uid, version) VALUES (${indexUid}, ${version})`;
    },

    /** A point in time for `hasEnded`: transactions that write already may have been too early for a registration. */
    async horizon(): Promise<string> {
      const [row] = await sql<{ xid: string }[]>`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid`;
      if (row === undefined) throw new Error('the database names no horizon');
      return row.xid;
    },

    /** Whether every transaction that wrote before the horizon has ended, so that reading shows what it wrote. */
    async hasEnded(horizon: string): Promise<boolean> {
      const [row] = await sql<{ ended: boolean }[]>`
        SELECT pg_snapshot_xmin(pg_current_snapshot()) >= ${horizon}::text::xid8 AS ended`;
      return row?.ended === true;
    },

    async noteServer(indexUid: string, serverMadeAt: string, task: number): Promise<void> {
      await sql`
        UPDATE search_mirror SET server_made_at = ${serverMadeAt}, task = ${task} WHERE index_uid = ${indexUid}`;
    },

    async noteTask(indexUid: string, task: number): Promise<void> {
      await sql`UPDATE search_mirror SET task = greatest(task, ${task}) WHERE index_uid = ${indexUid}`;
    },

    /**
     * Queues the next documents in order of id for the index that is being filled, those among them that were refused
     * too; false when there are no more.
     */
    async queueNext(indexUid: string, documentsMax: number): Promise<boolean> {
      const queued = await sql`
        WITH page AS MATERIALIZED (
          SELECT id, workspace_id FROM documents
          WHERE id > (SELECT copied_to FROM search_mirror WHERE index_uid = ${indexUid})
          ORDER BY id LIMIT ${documentsMax}),
        added AS MATERIALIZED (SELECT search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM page)
        UPDATE search_mirror SET copied_to = last.id
        FROM added, (SELECT id FROM page ORDER BY id DESC LIMIT 1) last WHERE index_uid = ${indexUid}
        RETURNING index_uid`;
      return queued.length > 0;
    },

    /** How far the index that is being filled is. */
    async progress(): Promise<{ copied: number; documents: number }> {
      const [row] = await sql<{ copied: number; documents: number }[]>`
        SELECT count(*) FILTER (WHERE id <= (SELECT copied_to FROM search_mirror WHERE NOT ready LIMIT 1))::int AS copied,
          count(*)::int AS documents
        FROM documents`;
      return row ?? { copied: 0, documents: 0 };
    },

    /** From now on this index answers, and no other, both at once; those before it are left to be deleted. */
    async makeReady(indexUid: string): Promise<void> {
      await sql`
        WITH old AS (DELETE FROM search_mirror WHERE index_uid <> ${indexUid} RETURNING index_uid),
        retired AS (INSERT INTO search_mirror_retired SELECT index_uid FROM old ON CONFLICT DO NOTHING)
        UPDATE search_mirror SET ready = true
        WHERE index_uid = ${indexUid} AND (SELECT count(*) FROM old) >= 0`;
    },

    /** The index answers no searches and receives no changes any more; it is deleted later. */
    async retire(indexUids: readonly string[]): Promise<void> {
      await sql`
        WITH old AS (DELETE FROM search_mirror WHERE index_uid = ANY (${indexUids as string[]}) RETURNING index_uid)
        INSERT INTO search_mirror_retired SELECT index_uid FROM old ON CONFLICT DO NOTHING`;
    },

    async retired(): Promise<string[]> {
      const rows = await sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror_retired`;
      return rows.map(({ uid }) => uid);
    },

    async forgetRetired(indexUid: string): Promise<void> {
      await sql`DELETE FROM search_mirror_retired WHERE index_uid = ${indexUid}`;
    },

    /** Asks the process that feeds the indexes for new ones. */
    async requestRebuild(): Promise<void> {
      await sql`UPDATE search_mirror SET outdated = true`;
    },
  };
}

/** Ends the mirror: nothing is queued any more, and what waited is forgotten. */
export async function retireAll(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      WITH old AS (DELETE FROM search_mirror RETURNING index_uid)
      INSERT INTO search_mirror_retired SELECT index_uid FROM old ON CONFLICT DO NOTHING`;
    // What a writer has locked stays, and does no harm; waiting for it could end in a circle.
    await tx`
      DELETE FROM search_outbox WHERE document_id IN (SELECT document_id FROM search_outbox FOR UPDATE SKIP LOCKED)`;
  });
}
