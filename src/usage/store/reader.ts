// Pages of events and exact totals.

import { TIME_MAX_MS } from '../../core/date-time.ts';
import { bucketsOf } from '../../core/time-buckets.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { PageCursor, TimeWindow } from '../cursor.ts';

/** A stored event, as text, because a JavaScript date or number would lose digits. */
export type StoredEvent = {
  id: string;
  created_at: string;
  event_id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  data: string;
  /** Null where there are none. */
  extensions: string | null;
};

/** Of `usage_counts`, in seconds: whole days, whole minutes, and single batches at the ends of a window. */
const GRAINS = [86_400, 60, 0];

export type EventReader = ReturnType<typeof createEventReader>;

export function createEventReader(sql: Transaction) {
  const time = (ms: number) => sql`${renderTimestamp(ms)}::timestamp`;

  return {
    /** Rows of the window from the cursor on, in ascending order; one more than `size` where others follow. */
    async page({ workspaceId, from, to }: TimeWindow, cursor: PageCursor, size: number) {
      const { backwards, position, inclusive } = cursor;
      const sign = sql.unsafe(`${backwards ? '<' : '>'}${inclusive ? '=' : ''}`);
      // A position replaces the bound of the window on its side: with both, the index would be read from the bound on.
      const lower = position === undefined || backwards ? from : undefined;
      const upper = position === undefined || !backwards ? to : undefined;
      // `e.` in ORDER BY: the bare names are the texts that are selected, which no index has.
      const events = await sql<StoredEvent[]>`
        SELECT id::text, created_at::text, event_id, source, type, subject, time::text, data::text, extensions::text
        FROM usage_events e WHERE workspace_id = ${workspaceId}
          ${position ? sql`AND (created_at, id) ${sign} (${time(position.createdAtMs)}, ${position.id}::uuid)` : sql``}
          ${lower === undefined ? sql`` : sql`AND created_at >= ${time(lower)}`}
          ${upper === undefined ? sql`` : sql`AND created_at <= ${time(upper)}`}
        ORDER BY ${backwards ? sql`e.created_at DESC, e.id DESC` : sql`e.created_at, e.id`} LIMIT ${size + 1}`;
      return backwards ? events.reverse() : events;
    },

    async total({ workspaceId, from, to }: TimeWindow): Promise<number> {
      const counts = bucketsOf(from, to === undefined ? undefined : to + 1, GRAINS).map(
        (range) => sql`SELECT coalesce(sum(events), 0) AS events FROM usage_counts
          WHERE workspace_id = ${workspaceId} AND grain = ${range.grain}
            ${range.from === undefined ? sql`` : sql`AND start >= ${time(range.from)}`}
            ${range.until === undefined ? sql`` : sql`AND start < ${time(range.until)}`}`,
      );
      const all = counts.reduce(
        (union, each) => sql`${union} UNION ALL ${each}`,
        sql`SELECT 0::numeric AS events`,
      );
      const [row] = await sql<
        { events: number }[]
      >`SELECT sum(events)::bigint AS events FROM (${all}) AS counts`;
      return row?.events ?? 0;
    },

    async cursorSecret(): Promise<Buffer> {
      const [row] = await sql<{ secret: Buffer }[]>`SELECT secret FROM usage_cursor_secret`;
      if (row === undefined) throw new Error('usage_cursor_secret is empty');
      return row.secret;
    },
  };
}

/** A timestamp as Postgres reads it; after the year 9999 it is infinity. */
export const renderTimestamp = (ms: number): string =>
  ms > TIME_MAX_MS ? 'infinity' : new Date(ms).toISOString().slice(0, -1);

/** `2026-01-31 10:00:00.123` as milliseconds since 1970. */
export const toMs = (text: string): number => Date.parse(`${text.replace(' ', 'T')}Z`);
