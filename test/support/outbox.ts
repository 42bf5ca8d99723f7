import type { Sql } from '../../src/infra/postgres/client.ts';

export type OutboxEvent = {
  eventId: string;
  workspaceId: string;
  type: string;
  subject: string;
  data: { value: string | number; [field: string]: unknown };
};

/** What stands in the outbox, in order: where nobody moves them, every event that was caused. */
export const readOutbox = (sql: Sql): Promise<OutboxEvent[]> =>
  sql<OutboxEvent[]>`
    SELECT event_id AS "eventId", workspace_id AS "workspaceId", type, subject, data FROM usage_outbox ORDER BY id`;
