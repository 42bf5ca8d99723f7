// Sums are kept for ever, or for as long as the settings say; those that budgets need stay.

import { expect, test } from 'bun:test';
import { createModelUsageStore } from '../../src/gateway/store/model-usage.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { createRetention } from '../../src/usage/store/retention.ts';
import { testDatabase } from '../support/database.ts';
import { sumModelDays } from '../support/model-days.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('sums of whole days before the horizon are deleted, but not of the current month of models', async () => {
  await using database = await testDatabase();
  const sql = connectPostgres({ url: database.url, applicationName: 'test', log: silent });
  try {
    await sql`INSERT INTO usage_by_source SELECT 'acme', hour, 'a', 'b', 1, 1
      FROM generate_series(timestamp '2020-01-01', '2020-01-03', interval '12 hours') AS hour`;
    await sql`INSERT INTO usage_by_subject SELECT workspace_id, hour, type, source, events, value FROM usage_by_source`;
    const retention = createRetention(sql);
    const before = new Date('2020-01-02T15:00:00Z');
    let deleted = 0;
    for (let some = 1; some > 0; deleted += some) some = await retention.deleteSomeSums(before, 1);
    expect(deleted).toBe(4);
    const [left] = await sql`SELECT (SELECT count(*) FROM usage_by_source)::int AS sources,
      (SELECT count(*) FROM usage_by_subject)::int AS subjects`;
    expect(left).toEqual({ sources: 3, subjects: 3 });
    for (const hour of ['2020-01-01', new Date().toISOString().slice(0, 10)])
      await sql`INSERT INTO model_usage (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
        prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms)
        VALUES ('acme', ${hour}::timestamp, 'k', 'chat', 'm', 't', 'answered', 1, 0, 1, 1, 1, 1, 0, 0)`;
    await sumModelDays(sql);
    const models = createModelUsageStore(sql);
    while ((await models.deleteSome(new Date(Date.now() + 86_400_000), 1)) > 0);
    const [rows] = await sql`SELECT (SELECT count(*) FROM model_usage)::int AS hours,
      (SELECT count(DISTINCT day) FROM model_usage_days)::int AS days`;
    expect(rows).toEqual({ hours: 1, days: 1 });
  } finally {
    await sql.end({ timeout: 1 });
  }
});
