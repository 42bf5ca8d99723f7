import type { Transaction } from '../../infra/postgres/client.ts';
import type { OutboxEvent } from '../events.ts';
import { OUTBOX_AGE_MS, OUTBOX_BATCH } from '../limits.ts';

export type OutboxStore = ReturnType<typeof createOutboxStore>;

/** Events that may not have been recorded yet. */
export function createOutboxStore(sql: Transaction) {
  return {
    async forget(ids: readonly number[]): Promise<void> {
      await sql`DELETE FROM chat_outbox WHERE id = ANY (${ids as number[]}::bigint[])`;
    },

    /** Those whose process had the time to record and forget them; the oldest first. */
    leftBehind(): Promise<OutboxEvent[]> {
      return sql<OutboxEvent[]>`
        SELECT id, event_id, workspace_id, type, subject, data, to_json(created_at) #>> '{}' AS created_at
        FROM chat_outbox
        WHERE created_at < now() - ${OUTBOX_AGE_MS}::float8 * interval '1 ms' ORDER BY id LIMIT ${OUTBOX_BATCH}`;
    },
  };
}
