import type { Sql } from '../infra/postgres/client.ts';

/** What each workspace stores, binned documents included. It reads every document. */
export const createMeasureStorage =
  (sql: Sql) => (): Promise<{ workspaceId: string; documents: number; bytes: number }[]> =>
    sql`SELECT workspace_id AS "workspaceId", count(*)::float8 AS documents,
        coalesce(sum(file_size), 0)::float8 AS bytes FROM documents GROUP BY 1`;
