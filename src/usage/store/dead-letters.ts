// Events that the database refused, kept for an administrator: one dead letter for each event, also after repeated delivery.

import type { Author } from '../../core/author.ts';
import { formatUuid } from '../../core/ids.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { decodeRow } from '../row.ts';

export type DeadLetter = { id: string; workspaceId: string; createdAt: Date; reason: string; row: Buffer };
export type NewDeadLetter = Pick<DeadLetter, 'workspaceId' | 'reason' | 'row'>;

/** Writes the row of the audit log for letters that are sent again, or deleted. */
const auditLetters = (
  sql: Transaction,
  author: Author,
  of: { change: 'replay' | 'purge'; workspaceId: string; count: Fragment },
): Fragment =>
  audited(sql, author, {
    action: `metrics.${of.change}-dead-letters`,
    workspace: of.workspaceId,
    kind: 'dead-letters',
    id: null,
    before: sql`jsonb_build_object('count', ${of.count})`,
  });

export type DeadLetterStore = ReturnType<typeof createDeadLetterStore>;

export function createDeadLetterStore(sql: Transaction) {
  const columns = sql`id, workspace_id AS "workspaceId", created_at AS "createdAt", reason, event AS row`;
  return {
    /** Replaces the copy of an event that has a dead letter already; the same copy again changes nothing. */
    async add({ workspaceId, reason, row }: NewDeadLetter): Promise<void> {
      await sql`INSERT INTO usage_dead_letters AS kept (id, workspace_id, reason, event)
        VALUES (${toDeadLetterId(row)}, ${workspaceId}, ${reason}, ${row})
        ON CONFLICT (id) DO UPDATE SET created_at = now(), reason = excluded.reason, event = excluded.event
        WHERE kept.event <> excluded.event`;
    },

    /** Newest first; one row more than `limit` where others follow. */
    list(
      workspaceId: string,
      { limit, after }: { limit: number; after: { createdAt: Date; id: string } | undefined },
    ): Promise<DeadLetter[]> {
      const behind =
        after === undefined ? sql`` : sql`AND (created_at, id) < (${after.createdAt}, ${after.id}::uuid)`;
      return sql<DeadLetter[]>`SELECT ${columns} FROM usage_dead_letters
        WHERE workspace_id = ${workspaceId} ${behind} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    /** The oldest dead letters, or the oldest of those with these ids. */
    oldest(workspaceId: string, limit: number, ids: readonly string[] | undefined): Promise<DeadLetter[]> {
      const named = ids === undefined ? sql`` : sql`AND id = ANY (${ids as string[]}::uuid[])`;
      return sql<DeadLetter[]>`SELECT ${columns} FROM usage_dead_letters
        WHERE workspace_id = ${workspaceId} ${named} ORDER BY created_at, id LIMIT ${limit}`;
    },

    /** Returns how many there were. */
    async delete(workspaceId: string, ids: readonly string[] | undefined, author: Author): Promise<number> {
      const named = ids === undefined ? sql`` : sql`AND id = ANY (${ids as string[]}::uuid[])`;
      const audit = auditLetters(sql, author, { change: 'purge', workspaceId, count: sql`count(*)` });
      const [row] = await sql<{ count: number }[]>`
        WITH gone AS (DELETE FROM usage_dead_letters WHERE workspace_id = ${workspaceId} ${named} RETURNING id)
        SELECT count(*)::int AS count, ${audit} FROM gone HAVING count(*) > 0`;
      return row?.count ?? 0;
    },

    /** Writes the row of the audit log for letters that are about to be sent again. */
    async recordReplay(workspaceId: string, count: number, author: Author): Promise<void> {
      const of = { change: 'replay', workspaceId, count: sql`${count}::int` } as const;
      await sql`SELECT ${auditLetters(sql, author, of)}`;
    },

    /** Deletes exactly these copies: a dead letter whose event was refused again meanwhile has another copy, and stays. */
    async deleteCopies(letters: readonly Pick<DeadLetter, 'id' | 'row'>[]): Promise<void> {
      const ids = letters.map(({ id }) => id);
      const digests = letters.map(({ row }) => new Bun.CryptoHasher('sha256').update(row).digest('hex'));
      await sql`DELETE FROM usage_dead_letters AS kept
        USING unnest(${ids}::uuid[], ${digests}::text[]) AS copies (id, digest)
        WHERE kept.id = copies.id AND encode(sha256(kept.event), 'hex') = copies.digest`;
    },
  };
}

/** The same for every copy of an event, because it is derived from the event's identity. */
function toDeadLetterId(row: Buffer): string {
  const { workspaceId, source, eventId } = decodeRow(row);
  const digest = new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([workspaceId, source, eventId]))
    .digest();
  // RFC 9562, version 8: a UUID whose bits the application chooses.
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return formatUuid(digest.toString('hex', 0, 16));
}
