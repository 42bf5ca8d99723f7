// A page of the audit log reads its own rows alone, whichever filter is set, and whatever values the planner knows.

import { expect, test } from 'bun:test';
import { type AuditFilter, createAuditStore } from '../../src/access/audit.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const ROWS = 20_000;
const LIMIT = 10;

const { sql } = await shared(testDatabase());
/** One row in 200 is of the rare kind, and all of these are older than every other row. */
await sql`
  INSERT INTO audit_log (created_at, workspace_id, action, actor, via, key_id, object_kind, object_id)
  SELECT timestamptz '2026-01-01' + n * interval '1 s', 'acme', CASE WHEN rare THEN 'rare.action' ELSE 'documents.purge' END,
    CASE WHEN rare THEN 'rare@example.com' ELSE 'ada@example.com' END, 'key', CASE WHEN rare THEN 'rare' ELSE 'often' END,
    CASE WHEN rare THEN 'key' ELSE 'document' END, CASE WHEN rare THEN 'rare' ELSE n::text END
  FROM generate_series(1, ${ROWS}::int) AS n, LATERAL (SELECT n <= ${ROWS / 200}::int AS rare) AS kind`;
await sql`ANALYZE audit_log`;

/** Rows of the table that the statement has read, by whatever way. */
async function pageOf(filter: AuditFilter): Promise<{ rows: number; read: number }> {
  return sql.begin(async (tx) => {
    await tx`SET LOCAL plan_cache_mode = force_generic_plan`;
    const readSoFar = async (): Promise<number> => {
      const [row] = await tx<{ read: number }[]>`
        SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read
        FROM pg_stat_xact_user_tables WHERE relname = 'audit_log'`;
      return row?.read ?? 0;
    };
    const before = await readSoFar();
    const rows = await createAuditStore(tx).list('acme', { limit: LIMIT, after: undefined }, filter);
    return { rows: rows.length, read: (await readSoFar()) - before };
  });
}

const SINCE = new Date('2026-01-01T01:00:00Z');

const FILTERS: [string, AuditFilter][] = [
  ['none', {}],
  ['a rare action', { action: 'rare.action' }],
  ['a common action', { action: 'documents.purge' }],
  ['a rare actor', { actor: 'rare@example.com' }],
  ['a common actor', { actor: 'ada@example.com' }],
  ['a rare key', { keyId: 'rare' }],
  ['a common key', { keyId: 'often' }],
  ['a rare kind', { objectKind: 'key' }],
  ['a common kind', { objectKind: 'document' }],
  ['an object with many rows', { objectKind: 'key', objectId: 'rare' }],
  ['a start', { since: SINCE }],
  ['an end', { until: SINCE }],
  ['a rare kind with an end', { objectKind: 'key', until: SINCE }],
];

test.each(FILTERS)('a page is read by index alone: %s', async (_, filter) => {
  expect(await pageOf(filter)).toEqual({ rows: LIMIT + 1, read: LIMIT + 1 });
});

test('an object with one row is found by one', async () => {
  expect(await pageOf({ objectKind: 'document', objectId: String(ROWS) })).toEqual({ rows: 1, read: 1 });
});
