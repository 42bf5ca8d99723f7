// Which indexes of the search server are fed. While there is none the outbox stays empty.

import type { Transaction } from '../../../infra/postgres/client.ts';

export type Registration = {
  indexUid: string;
  version: string;
  ready: boolean;
  outdated: boolean;
  copiedTo: string;
  serverMadeAt: string | null;
  task: number;
};

export function createRegistrations(sql: Transaction) {
  return {
    list: (): Promise<Registration[]> => sql<Registration[]>`
      SELECT index_uid AS "indexUid", version, ready, outdated, copied_to AS "copiedTo",
        server_made_at AS "serverMadeAt", task
      FROM search_mirror ORDER BY made_at, index_uid`,

    /** The task is done, and with it all earlier ones. */
    async noteTask(indexUid: string, task: number): Promise<void> {
      await sql`UPDATE search_mirror SET task = greatest(task, ${task}) WHERE index_uid = ${indexUid}`;
    },

    /** How far the index that is being filled is. */
    async progress(): Promise<{ queued: number; documents: number }> {
      const [row] = await sql<{ queued: number; documents: number }[]>`
        SELECT count(*) FILTER (WHERE id <= (SELECT copied_to FROM search_mirror WHERE NOT ready LIMIT 1))::int AS queued,
          count(*)::int AS documents
        FROM documents`;
      return row ?? { queued: 0, documents: 0 };
    },

    /** These indexes answer no searches and receive no changes any more; they are deleted later. */
    async retire(indexUids: readonly string[]): Promise<void> {
      await sql`
        WITH old AS (DELETE FROM search_mirror WHERE index_uid = ANY (${indexUids as string[]}) RETURNING index_uid)
        INSERT INTO search_mirror_retired SELECT index_uid FROM old ON CONFLICT DO NOTHING`;
    },

    /** Asks the process that feeds the indexes for new ones. */
    async requestRebuild(): Promise<void> {
      await sql`UPDATE search_mirror SET outdated = true`;
    },
  };
}
