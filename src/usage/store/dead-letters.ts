// Events that the database refused, kept for an administrator.

import { newId } from '../../core/ids.ts';
import type { Sql } from '../../infra/postgres/client.ts';

export type DeadLetter = { id: string; workspaceId: string; createdAt: Date; reason: string; row: Buffer };
export type NewDeadLetter = Pick<DeadLetter, 'workspaceId' | 'reason' | 'row'>;

export type DeadLetterStore = ReturnType<typeof createDeadLetterStore>;

export function createDeadLetterStore(sql: Sql) {
  const columns = sql`id, workspace_id AS "workspaceId", created_at AS "createdAt", reason, event AS row`;
  return {
    async add({ workspaceId, reason, row }: NewDeadLetter): Promise<void> {
      await sql`INSERT INTO usage_dead_letters (id, workspace_id, reason, event)
        VALUES (${newId()}, ${workspaceId}, ${reason}, ${row})`;
    },

    /** Newest first, with one more than `limit` to tell whether others follow. */
    list(
      workspaceId: string,
      { limit, after }: { limit: number; after: { createdAt: Date; id: string } | undefined },
    ): Promise<DeadLetter[]> {
      const behind =
        after === undefined ? sql`` : sql`AND (created_at, id) < (${after.createdAt}, ${after.id}::uuid)`;
      return sql<DeadLetter[]>`SELECT ${columns} FROM usage_dead_letters
        WHERE workspace_id = ${workspaceId} ${behind} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    /** The oldest ones, or of those the ones with these ids. */
    oldest(workspaceId: string, limit: number, ids: readonly string[] | undefined): Promise<DeadLetter[]> {
      const named = ids === undefined ? sql`` : sql`AND id = ANY (${ids as string[]}::uuid[])`;
      return sql<DeadLetter[]>`SELECT ${columns} FROM usage_dead_letters
        WHERE workspace_id = ${workspaceId} ${named} ORDER BY created_at, id LIMIT ${limit}`;
    },

    /** Returns how many there were. */
    async delete(workspaceId: string, ids: readonly string[] | undefined): Promise<number> {
      const named = ids === undefined ? sql`` : sql`AND id = ANY (${ids as string[]}::uuid[])`;
      const { count } =
        await sql`DELETE FROM usage_dead_letters WHERE workspace_id = ${workspaceId} ${named}`;
      return count;
    },

    async count(): Promise<number> {
      const [row] = await sql<{ events: number }[]>`SELECT count(*) AS events FROM usage_dead_letters`;
      return row?.events ?? 0;
    },
  };
}
