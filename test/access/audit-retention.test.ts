// A long audit log: its newest page and the removal of its oldest rows read no more of it than they give or take.

import { expect, test } from 'bun:test';
import { createAccess } from '../../src/access/index.ts';
import { AUDIT_SWEEP_ROWS } from '../../src/access/limits.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createInvalidation } from '../../src/infra/postgres/invalidation.ts';
import { silentLog, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());
const { sql } = database;

/** Rows of one workspace, each a second older than the one before. */
const fill = async (workspace: string, count: number, youngestSeconds: number): Promise<void> => {
  await sql`
    INSERT INTO audit_log (created_at, workspace_id, action, actor, via, object_kind, object_id)
    SELECT now() - (${youngestSeconds}::int + i) * interval '1 second', ${workspace}, 'access.update-user',
      'person' || i % 100 || '@example.com', 'key', 'user', 'u' || i % 1000
    FROM generate_series(1, ${count}::int) AS i`;
};
const count = async (): Promise<number> =>
  (await sql<{ n: number }[]>`SELECT count(*)::int AS n FROM audit_log`)[0]?.n ?? 0;

test('rows past AUDIT_RETENTION_DAYS are removed, in batches, and the others stay', async () => {
  await fill('kept', 50, 3600);
  await fill('old', AUDIT_SWEEP_ROWS + 10, 2 * 86_400);
  const job = (auditRetentionDays: number) =>
    createAccess({
      sql,
      invalidation: createInvalidation({ sql, log: silentLog }),
      wakeMover: () => undefined,
      clock: systemClock,
      log: silentLog,
      settings: { auditRetentionDays },
    }).jobs.find(({ name }) => name === 'access.audit');
  expect(job(0)).toBeUndefined();
  const sweep = job(1);
  await sweep?.settle?.();
  await sweep?.stop();
  expect(await count()).toBe(50);
});

test.each([
  ['a page', ``, 'ORDER BY created_at DESC, id DESC'],
  ['a page of an action', `AND action = 'access.create-key'`, 'ORDER BY created_at DESC, id DESC'],
  ['a page of an actor', `AND actor = 'person7@example.com'`, 'ORDER BY created_at DESC, id DESC'],
  [
    'a page of an object',
    `AND object_kind = 'user' AND object_id = 'u7'`,
    'ORDER BY created_at DESC, id DESC',
  ],
  ['the oldest', `AND created_at < now() - interval '9 years'`, 'ORDER BY created_at, id'],
])('%s is read along an index, without a sort', async (_name, condition, order) => {
  if ((await count()) < 1000) {
    await fill('long', 50_000, 0);
    await sql`ANALYZE audit_log`;
  }
  const of = condition.includes('9 years') ? 'true' : "workspace_id = 'long'";
  const rows = await sql.unsafe<{ 'QUERY PLAN': string }[]>(
    `EXPLAIN SELECT id FROM audit_log WHERE ${of} ${condition} ${order} LIMIT 51`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index');
  expect(plan).not.toMatch(/Sort|Seq Scan/);
});
