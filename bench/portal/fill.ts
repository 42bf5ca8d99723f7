// What a workspace has after months of work, beside its documents: people with keys, the rollups of their calls and events, some
// of the events themselves, and an audit log. The rollups are made by SQL as the service would have made them.

import type { Sql } from '../../src/infra/postgres/client.ts';
import { createFinishedDays } from '../../src/usage/store/finished-days.ts';
import { strip } from '../search/bulk.ts';

export type Sizes = { keys: number; events: number; days: number; rawEvents: number; audit: number };

/** Hours of a day in which a key is used, and calls that fail: one in so many. */
const HOURS = 8;
const FAILS_ONE_IN = 8;

export async function fill(sql: Sql, workspace: string, sizes: Sizes): Promise<void> {
  await sql`SET synchronous_commit = off`.catch(() => undefined);
  await step('people and keys', () => fillKeys(sql, workspace, sizes.keys));
  await step('sums of calls and events', () => fillSums(sql, workspace, sizes));
  const restore = await strip(sql, ['usage_events']);
  await step('events', () => fillEvents(sql, workspace, sizes));
  await step('indexes of events', restore);
  await step('audit log', () => fillAudit(sql, workspace, sizes));
  await step('statistics', async () => {
    await sql.unsafe('VACUUM (ANALYZE)');
    await sql.unsafe('CHECKPOINT');
  });
}

async function step(name: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  console.log(`  ${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

async function fillKeys(sql: Sql, workspace: string, keys: number): Promise<void> {
  await sql`
    INSERT INTO users (id, workspace_id, email, name)
    SELECT gen_random_uuid(), ${workspace}, 'bench-' || n || '@example.com', 'Person ' || n
    FROM generate_series(1, ${keys}) AS n ON CONFLICT DO NOTHING`;
  await sql`
    INSERT INTO keys (id, workspace_id, user_id, name, prefix, hash, scopes, created_at)
    SELECT gen_random_uuid(), workspace_id, id, 'key of ' || name, left(md5(email), 12), sha256(email::bytea),
      ARRAY['models', 'chat'], now() - random() * interval '90 days'
    FROM users WHERE workspace_id = ${workspace} AND email LIKE 'bench-%' ON CONFLICT DO NOTHING`;
}

/** A day at a time: each key calls one of three models in some hours, and sends events of three types. */
async function fillSums(sql: Sql, workspace: string, { keys, events, days }: Sizes): Promise<void> {
  const calls = Math.max(1, Math.round(events / (keys * days * HOURS)));
  for (let day = days - 1; day >= 0; day--) {
    await sql`
      INSERT INTO model_usage (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
        prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram,
        first_event_histogram)
      SELECT ${workspace}, hour, id, 'chat', 'model-' || number % 3, 'main/model-' || number % 3, outcome, requests, 0,
        requests * 300, requests * 150, requests * 0.0007, requests * 900, requests, requests * 200,
        requests::numeric * ('1e' || 10 * (16 + (number + hours) % 6))::numeric,
        requests::numeric * ('1e' || 10 * (12 + (number + hours) % 5))::numeric
      FROM (
        SELECT k.id::text, row_number() OVER (ORDER BY k.id)::int AS number, hours,
          date_trunc('day', now() AT TIME ZONE 'UTC') - ${day}::int * interval '1 day' + (8 + hours) * interval '1 hour' AS hour
        FROM keys k, generate_series(0, ${HOURS - 1}) AS hours WHERE workspace_id = ${workspace}
      ) AS used, LATERAL (
        SELECT 'ok' AS outcome, ${calls}::int AS requests
        UNION ALL SELECT 'failed', 1 WHERE (number + hours) % ${FAILS_ONE_IN} = 0) AS ended
      ON CONFLICT DO NOTHING`;
    await sql`
      INSERT INTO usage_by_subject (workspace_id, hour, type, subject, events, value)
      SELECT workspace_id, hour, type, email, ${calls}::int, ${calls}::int
      FROM (
        SELECT u.workspace_id, email, row_number() OVER (ORDER BY u.id)::int AS number, hours,
          date_trunc('day', now() AT TIME ZONE 'UTC') - ${day}::int * interval '1 day' + (8 + hours) * interval '1 hour' AS hour
        FROM users u, generate_series(0, ${HOURS - 1}) AS hours WHERE u.workspace_id = ${workspace}
      ) AS busy, LATERAL (
        SELECT (ARRAY['messages.user.new', 'messages.rag.persona.new', 'chat.create'])[1 + (number + hours) % 3] AS type)
        AS sent
      ON CONFLICT DO NOTHING`;
  }
  await sql`
    INSERT INTO usage_by_source (workspace_id, hour, type, source, events, value)
    SELECT workspace_id, hour, type, source, sum(events) / 3, sum(value) / 3
    FROM usage_by_subject, (VALUES ('atrium'), ('shop'), ('crm')) AS sources (source)
    WHERE workspace_id = ${workspace} GROUP BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`;
  await sql`
    UPDATE usage_finished_days SET until = least(until, date_trunc('day', now() AT TIME ZONE 'UTC') - make_interval(days => ${days}))`;
  const finished = createFinishedDays(sql);
  while (await finished.sumNext(new AbortController().signal));
}

async function fillEvents(sql: Sql, workspace: string, { rawEvents, days }: Sizes): Promise<void> {
  await sql`
    INSERT INTO usage_events (workspace_id, created_at, id, event_id, source, type, subject, time, data, value)
    SELECT ${workspace}, at, gen_random_uuid(), 'bench-' || n, 'shop', 'shop.order', 'bench-' || n % 1000 || '@example.com',
      at, '{"value":1}', 1
    FROM generate_series(1, ${rawEvents}) AS n,
      LATERAL (SELECT date_trunc('milliseconds', now() AT TIME ZONE 'UTC' - (n::float8 / ${rawEvents}) * ${days}::int
        * interval '1 day') AS at) AS sent`;
}

async function fillAudit(sql: Sql, workspace: string, { audit, days }: Sizes): Promise<void> {
  await sql`
    INSERT INTO audit_log (created_at, workspace_id, action, actor, via, object_kind, object_id, after)
    SELECT now() - (n::float8 / ${audit}) * ${days}::int * interval '1 day', ${workspace}, 'access.create-key',
      'bench-' || n % 1000 || '@example.com', 'session', 'key', gen_random_uuid()::text, '{"name": "bench"}'
    FROM generate_series(1, ${audit}) AS n`;
}
