// Sums of events by subject and day, made from those of the hours once the day is over.

import type { Sql } from '../../infra/postgres/client.ts';
import { awaitAllStorage } from './lock-stripes.ts';

/** After its end a day is left alone for so long, in case the clock of the database is set back. */
const REST = '1 hour';

/** For one process at a time. */
export function createFinishedDays(sql: Sql) {
  /** Summing them again changes nothing: no event is stored in a day that is over. */
  const sumDay = async (day: string, signal: AbortSignal): Promise<void> => {
    const connection = sql.reserve({ unlimited: true });
    signal.addEventListener('abort', connection.release, { once: true });
    try {
      for (let workspaceId = await nextWorkspace(''); workspaceId !== undefined; ) {
        signal.throwIfAborted();
        await connection`
          INSERT INTO usage_by_subject_days (workspace_id, subject, day, type, events, value)
          SELECT workspace_id, subject, ${day}::timestamp, type, sum(events), sum(value) FROM usage_by_subject
          WHERE workspace_id = ${workspaceId} AND hour >= ${day}::timestamp AND hour < ${day}::timestamp + interval '1 day'
          GROUP BY workspace_id, subject, type
          ON CONFLICT (workspace_id, subject, day, type) DO UPDATE SET events = excluded.events, value = excluded.value`;
        workspaceId = await nextWorkspace(workspaceId);
      }
    } finally {
      signal.removeEventListener('abort', connection.release);
      connection.release();
    }
  };
  const nextWorkspace = async (after: string): Promise<string | undefined> => {
    const [row] = await sql<{ workspaceId: string }[]>`
      SELECT workspace_id AS "workspaceId" FROM usage_by_subject WHERE workspace_id > ${after}
      ORDER BY workspace_id LIMIT 1`;
    return row?.workspaceId;
  };

  return {
    /** Sums the earliest day that is over and has no sums yet; false when there is none. */
    async sumNext(signal: AbortSignal): Promise<boolean> {
      const [row] = await sql<{ day: string }[]>`
        SELECT until::text AS day FROM usage_finished_days
        WHERE until + interval '1 day' + ${REST}::interval <= clock_timestamp() AT TIME ZONE 'UTC'`;
      if (row === undefined) return false;
      await awaitAllStorage(sql);
      await sumDay(row.day, signal);
      await sql`
        UPDATE usage_finished_days SET until = until + interval '1 day' WHERE until = ${row.day}::timestamp`;
      return true;
    },
  };
}
