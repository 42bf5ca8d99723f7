// Sums of events by type, day, hour, subject or source: whole hours from the rollups, parts of hours at the ends of the
// window from the events themselves.

import type { Transaction } from '../../infra/postgres/client.ts';
import type { TimeWindow } from '../cursor.ts';
import { renderTimestamp } from './reader.ts';

export const GROUPINGS = ['type', 'day', 'hour', 'subject', 'source'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export type SummaryQuery = TimeWindow & {
  /** Selects this type and those that begin with it and a dot; undefined: all. */
  typePrefix: string | undefined;
  groupBy: Grouping;
  /** Only groups after this key. */
  after: string | undefined;
  limit: number;
};

/** A group; its value is text, so that it keeps all digits. */
export type SummaryRow = { key: string; events: number; value: string };
export type SummaryTotal = Omit<SummaryRow, 'key'>;

export type Summaries = ReturnType<typeof createSummaries>;

const HOUR_MS = 3_600_000;

export function createSummaries(sql: Transaction) {
  const time = (ms: number) => sql`${renderTimestamp(ms)}::timestamp`;

  /** Rows `(at, type, source, subject, events, value)` of the window; columns that the rollup does not have are null. */
  const counted = ({ workspaceId, from, to, typePrefix, groupBy }: SummaryQuery) => {
    const until = to === undefined ? undefined : to + 1;
    const firstHour = from === undefined ? undefined : Math.ceil(from / HOUR_MS) * HOUR_MS;
    const endHour = until === undefined ? undefined : Math.floor(until / HOUR_MS) * HOUR_MS;
    const ofType =
      typePrefix === undefined
        ? sql``
        : sql`AND (type = ${typePrefix} OR starts_with(type, ${`${typePrefix}.`}))`;
    const span = (column: 'hour' | 'created_at', begin: number | undefined, end: number | undefined) => sql`
      ${begin === undefined ? sql`` : sql`AND ${sql(column)} >= ${time(begin)}`}
      ${end === undefined ? sql`` : sql`AND ${sql(column)} < ${time(end)}`}`;
    const events = (begin: number | undefined, end: number | undefined) => sql`
      SELECT created_at AS at, type, source, subject, 1 AS events, coalesce(value, 0) AS value FROM usage_events
      WHERE workspace_id = ${workspaceId} ${ofType} ${span('created_at', begin, end)}`;
    if (firstHour !== undefined && endHour !== undefined && firstHour >= endHour) return events(from, until);
    const bySubject = groupBy === 'subject';
    const hours = sql`
      SELECT hour AS at, type, ${bySubject ? sql`NULL AS source, subject` : sql`source, NULL AS subject`}, events, value
      FROM ${bySubject ? sql`usage_by_subject` : sql`usage_by_source`}
      WHERE workspace_id = ${workspaceId} ${ofType} ${span('hour', firstHour, endHour)}`;
    const begin = from === firstHour ? sql`` : sql`UNION ALL ${events(from, firstHour)}`;
    const end = until === endHour ? sql`` : sql`UNION ALL ${events(endHour, until)}`;
    return sql`${hours} ${begin} ${end}`;
  };

  const keyOf = (groupBy: Grouping) => {
    if (groupBy === 'day') return sql`to_char(at, 'YYYY-MM-DD')`;
    if (groupBy === 'hour') return sql`to_char(at, 'YYYY-MM-DD"T"HH24":00:00"')`;
    return sql`${sql(groupBy)}`;
  };

  return {
    /** Groups in order of their key; one row more than `limit` where others follow. */
    groups(query: SummaryQuery): Promise<SummaryRow[]> {
      const behind = query.after === undefined ? sql`` : sql`WHERE key > ${query.after}`;
      return sql<SummaryRow[]>`
        SELECT key, sum(events)::bigint AS events, trim_scale(sum(value))::text AS value
        FROM (SELECT ${keyOf(query.groupBy)} COLLATE "C" AS key, events, value FROM (${counted(query)}) AS counted) AS keyed
        ${behind} GROUP BY key ORDER BY key LIMIT ${query.limit + 1}`;
    },

    async total(query: SummaryQuery): Promise<SummaryTotal> {
      const [row] = await sql<SummaryTotal[]>`
        SELECT coalesce(sum(events), 0)::bigint AS events, trim_scale(coalesce(sum(value), 0))::text AS value
        FROM (${counted(query)}) AS counted`;
      return row ?? { events: 0, value: '0' };
    },
  };
}
