// Sums of events by type, time, subject or source: whole hours from the rollups, parts of hours at the ends of the window from the events
// themselves. By the time of the events they are made of these alone.

import { type BucketRange, bucketsOf } from '../../core/time-buckets.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { TimeWindow } from '../cursor.ts';
import { renderTimestamp } from './reader.ts';

export const GROUPINGS = ['type', 'month', 'day', 'hour', 'subject', 'source'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export type SummaryQuery = TimeWindow & {
  /** Selects this type and those that begin with it and a dot; undefined: all. */
  typePrefix: string | undefined;
  groupBy: Grouping;
  /** The time that bounds and groups go by. */
  time: 'stored' | 'event';
  /** The IANA name of the zone of hours, days and months. */
  timezone: string;
  /** Read no rollups. */
  ofEvents: boolean;
  /** Only groups after this key. */
  after: string | undefined;
  limit: number;
};

/** A group; its value is text, so that it keeps all digits. */
export type SummaryRow = { key: string; events: number; value: string };
export type SummaryTotal = Omit<SummaryRow, 'key'>;

export type Summaries = ReturnType<typeof createSummaries>;

const GRAINS = [3600, 0];

export function createSummaries(sql: Transaction) {
  const time = (ms: number) => sql`${renderTimestamp(ms)}::timestamp`;

  /** Rows `(at, type, source, subject, events, value)` of the window; columns that a rollup does not have are null. */
  const counted = (query: SummaryQuery, bySubject: boolean) => {
    const { workspaceId, from, to, typePrefix, ofEvents } = query;
    const at = query.time === 'event' ? 'time' : 'created_at';
    const ofType =
      typePrefix === undefined
        ? sql``
        : sql`AND (type = ${typePrefix} OR starts_with(type, ${`${typePrefix}.`}))`;
    const ofWindow = (
      column: 'hour' | 'created_at' | 'time',
      { from: begin, until: end }: BucketRange,
    ) => sql`
      WHERE workspace_id = ${workspaceId} ${ofType}
      ${begin === undefined ? sql`` : sql`AND ${sql(column)} >= ${time(begin)}`}
      ${end === undefined ? sql`` : sql`AND ${sql(column)} < ${time(end)}`}`;
    const grains = ofEvents ? [0] : GRAINS;
    const parts = bucketsOf(from, to === undefined ? undefined : to + 1, grains).map((range) => {
      if (range.grain === 0)
        return sql`SELECT ${sql(at)} AS at, type, source, subject, 1 AS events, coalesce(value, 0) AS value
            FROM usage_events ${ofWindow(at, range)}`;
      return bySubject
        ? sql`SELECT hour AS at, type, NULL AS source, subject, events, value
            FROM usage_by_subject ${ofWindow('hour', range)}`
        : sql`SELECT hour AS at, type, source, NULL AS subject, events, value
            FROM usage_by_source ${ofWindow('hour', range)}`;
    });
    return parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
  };

  const keyOf = ({ groupBy, timezone }: SummaryQuery) => {
    if (groupBy !== 'hour' && groupBy !== 'day' && groupBy !== 'month') return sql`${sql(groupBy)}`;
    const isUtc = timezone === 'UTC';
    const local = isUtc ? sql`at` : sql`(at AT TIME ZONE 'UTC' AT TIME ZONE ${timezone})`;
    if (groupBy === 'month') return sql`to_char(${local}, 'YYYY-MM')`;
    if (groupBy === 'day') return sql`to_char(${local}, 'YYYY-MM-DD')`;
    const hour = sql`to_char(${local}, 'YYYY-MM-DD"T"HH24":00:00"')`;
    if (isUtc) return hour;
    // Of an hour that comes twice when clocks are set back, the offset tells which.
    return sql`${hour} || CASE WHEN ${local} < at THEN '-' ELSE '+' END ||
      to_char(greatest(${local} - at, at - ${local}), 'HH24:MI')`;
  };

  return {
    /** Groups in order of their key; one row more than `limit` where others follow. */
    groups(query: SummaryQuery): Promise<SummaryRow[]> {
      const behind = query.after === undefined ? sql`` : sql`WHERE key > ${query.after}`;
      return sql<SummaryRow[]>`
        SELECT key, sum(events)::bigint AS events, trim_scale(sum(value))::text AS value
        FROM (SELECT ${keyOf(query)} COLLATE "C" AS key, events, value FROM (${counted(query, query.groupBy === 'subject')}) AS counted) AS keyed
        ${behind} GROUP BY key ORDER BY key LIMIT ${query.limit + 1}`;
    },

    async total(query: SummaryQuery): Promise<SummaryTotal> {
      const [row] = await sql<SummaryTotal[]>`
        SELECT coalesce(sum(events), 0)::bigint AS events, trim_scale(coalesce(sum(value), 0))::text AS value
        FROM (${counted(query, false)}) AS counted`;
      return row ?? { events: 0, value: '0' };
    },
  };
}
