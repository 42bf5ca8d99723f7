// Pages of events and exact totals.

import type { Transaction } from '../../infra/postgres/client.ts';
import type { Window } from '../cursor.ts';
import type { Place, Turn } from '../page.ts';
import { piecesOf } from '../time-buckets.ts';

/** A stored event, as text: a JavaScript date would lose digits, a parsed number others. */
export type StoredEvent = {
  id: string;
  created_at: string;
  event_id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  data: string;
  extensions: string | null;
};

export type EventReader = ReturnType<typeof createEventReader>;

export function createEventReader(sql: Transaction) {
  const time = (ms: number) => sql`${renderTimestamp(ms)}::timestamp`;

  return {
    /** Rows of the window from the turn's place, in ascending order, with one more than `size` on the far side. */
    async page({ workspaceId, from, to }: Window, turn: Turn, size: number): Promise<StoredEvent[]> {
      const { backwards, place, inclusive } = turn;
      const position = (at: Place) => sql`(${time(at.createdAtMs)}, ${at.id}::uuid)`;
      // A place stands for the window's bound on its side: with both, the index is read from the bound on.
      const lower =
        !backwards && place !== undefined
          ? sql`AND (created_at, id) ${inclusive ? sql`>=` : sql`>`} ${position(place)}`
          : from === undefined
            ? sql``
            : sql`AND created_at >= ${time(from)}`;
      const upper =
        backwards && place !== undefined
          ? sql`AND (created_at, id) ${inclusive ? sql`<=` : sql`<`} ${position(place)}`
          : to === undefined
            ? sql``
            : sql`AND created_at <= ${time(to)}`;
      // Named with its table: `created_at` alone would be the text that is selected.
      const order = backwards ? sql`e.created_at DESC, e.id DESC` : sql`e.created_at, e.id`;
      const rows = await sql<StoredEvent[]>`
        SELECT id, created_at::text, event_id, source, type, subject, time::text, data::text, extensions::text
        FROM usage_events e WHERE workspace_id = ${workspaceId} ${lower} ${upper} ORDER BY ${order} LIMIT ${size + 1}`;
      return backwards ? rows.toReversed() : rows;
    },

    /** How many events the window holds. */
    async total({ workspaceId, from, to }: Window): Promise<number> {
      const pieces = piecesOf(from, to === undefined ? undefined : to + 1).map(
        (piece) => sql`SELECT coalesce(sum(events), 0) AS events FROM usage_counts
          WHERE workspace_id = ${workspaceId} AND grain = ${piece.grain}
            ${piece.from === undefined ? sql`` : sql`AND start >= ${time(piece.from)}`}
            ${piece.until === undefined ? sql`` : sql`AND start < ${time(piece.until)}`}`,
      );
      const all = pieces.reduce(
        (sum, piece) => sql`${sum} UNION ALL ${piece}`,
        sql`SELECT 0::numeric AS events`,
      );
      const [row] = await sql<
        { events: number }[]
      >`SELECT sum(events)::bigint AS events FROM (${all}) AS pieces`;
      return row?.events ?? 0;
    },

    /** The key that signs cursors. */
    async cursorSecret(): Promise<Buffer> {
      const [row] = await sql<{ secret: Buffer }[]>`SELECT secret FROM usage_cursor_secret`;
      if (row === undefined) throw new Error('usage_cursor_secret is empty');
      return row.secret;
    },
  };
}

/** As Postgres reads a timestamp; the end of the year 9999 is where all times end. */
export const renderTimestamp = (ms: number): string =>
  ms > LAST_MS ? 'infinity' : new Date(ms).toISOString().slice(0, -1);

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** `2026-01-31 10:00:00.123` as milliseconds since 1970. */
export const toMs = (text: string): number => Date.parse(`${text.replace(' ', 'T')}Z`);
