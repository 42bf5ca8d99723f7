import type { Clock } from '../core/clock.ts';
import type { Sql } from '../infra/postgres/client.ts';

export const DAY_MS = 86_400_000;
const DAYS_SHOWN = 30;

export const startOf = (time: Date, sizeMs: number): Date =>
  new Date(Math.floor(time.getTime() / sizeMs) * sizeMs);

/** Start of the first day, UTC, of which trends are kept and shown. */
export const firstDayShown = (clock: Clock): Date =>
  startOf(new Date(clock.now().getTime() - (DAYS_SHOWN - 1) * DAY_MS), DAY_MS);

export type Name = 'documents' | 'bytes' | 'events_waiting' | 'jobs_waiting';
export type Measure = { workspaceId: string; name: Name; value: number };

/** In place of a workspace: measures of the service as a whole. */
export const SERVICE = '';

export type TrendStore = ReturnType<typeof createTrendStore>;

/** The trends table: a measure of each name by workspace and time. */
export function createTrendStore(sql: Sql) {
  const rows = (measures: readonly Measure[], at: Date) => sql`
    INSERT INTO trends AS t (workspace_id, name, at, value)
    SELECT workspace_id, name, ${at}, value FROM unnest(
      ${measures.map(({ workspaceId }) => workspaceId)}::text[], ${measures.map(({ name }) => name)}::text[],
      ${measures.map(({ value }) => value)}::float8[]) AS measured (workspace_id, name, value)
    ORDER BY 1, 2 ON CONFLICT (workspace_id, name, at)`;
  return {
    async keepLast(measures: readonly Measure[], at: Date): Promise<void> {
      await sql`${rows(measures, at)} DO UPDATE SET value = excluded.value WHERE t.value <> excluded.value`;
    },
    async keepGreatest(measures: readonly Measure[], at: Date): Promise<void> {
      await sql`${rows(measures, at)} DO UPDATE SET value = excluded.value WHERE t.value < excluded.value`;
    },
    async forgetBefore(at: Date): Promise<void> {
      await sql`DELETE FROM trends WHERE at < ${at}`;
    },
    read: (workspaceId: string, since: Date): Promise<{ name: Name; at: Date; value: number }[]> =>
      sql`SELECT name, at AT TIME ZONE 'UTC' AS at, value FROM trends
        WHERE workspace_id IN (${workspaceId}, ${SERVICE}) AND at >= ${since} ORDER BY at`,
  };
}
