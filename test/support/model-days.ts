// Sums of days of models, made of the hours that a test has written.

import { SUMS } from '../../src/gateway/accounting/projection.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';

/** Replaces all sums of days. */
export async function sumModelDays(sql: Pick<Sql, 'unsafe'>): Promise<void> {
  await sql.unsafe(`
    DELETE FROM model_usage_days;
    INSERT INTO model_usage_days (workspace_id, dimension, day, name, errors, ${SUMS.join(', ')})
    SELECT workspace_id, dimension, date_trunc('day', hour), name,
      coalesce(sum(requests) FILTER (WHERE outcome IN ('failed', 'refused')), 0), ${SUMS.map((name) => `sum(${name})`).join(', ')}
    FROM model_usage, LATERAL (VALUES ('all', ''), ('model', model), ('target', target), ('key', key_id),
      ('endpoint', endpoint), ('outcome', outcome)) AS along (dimension, name)
    GROUP BY 1, 2, 3, 4`);
}
