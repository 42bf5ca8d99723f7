// How many changes a second the mirror keeps up with, and how late it is meanwhile (printed: it is the server's time).

import { expect, test } from 'bun:test';
import { createOutbox } from '../../../src/documents/search/meilisearch/outbox.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { mirrorSetting, VIEWER } from './mirror-setting.ts';

const { MEILI_URL: url, MEILI_API_KEY: apiKey } = process.env;
const DOCUMENTS = 20_000;
const CHANGES_PER_SECOND = 2000;
const SECONDS = 12;
const TICK_MS = 50;
/** A backlog that grows passes it; one that only waits for the task in hand does not, on a slow machine either. */
const LAG_SECONDS_MAX = 8;

const insertMany = (sql: Sql) => sql`
  INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, tags, summary, slots, status)
  SELECT gen_random_uuid(), ${VIEWER.workspaceId}, gen_random_uuid(), ${VIEWER.userId}, 'document ' || n, 'key ' || n,
    ARRAY['tag' || n % 100, 'all'], repeat('some words of a summary ', 8), '{"colour": "green", "size": 12}', 'public'
  FROM generate_series(1, ${DOCUMENTS}) AS n`;

test.skipIf(!url)(`${CHANGES_PER_SECOND} changes a second are kept up with (needs MEILI_URL)`, async () => {
  await using setting = await mirrorSetting({ url: url ?? '', apiKey });
  const { sql } = setting;
  await insertMany(sql);
  const ids = (await sql<{ id: string }[]>`SELECT id FROM documents`).map(({ id }) => id);
  const mirror = setting.open();
  const began = performance.now();
  await setting.start(mirror);
  await setting.settle(mirror);
  const fillSeconds = (performance.now() - began) / 1000;

  const outbox = createOutbox(sql);
  const lags: number[] = [];
  const until = performance.now() + SECONDS * 1000;
  let changes = 0;
  for (let tick = performance.now(); tick < until; tick += TICK_MS) {
    const chosen = new Set<string>();
    while (chosen.size < (CHANGES_PER_SECOND * TICK_MS) / 1000)
      chosen.add(ids[Math.floor(Math.random() * ids.length)] ?? '');
    await sql`
        WITH changed AS (
          UPDATE documents SET summary = summary || 'x' WHERE id = ANY (${[...chosen]}::uuid[]) RETURNING id, workspace_id)
        SELECT search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM changed`;
    changes += chosen.size;
    lags.push((await outbox.backlog()).lagSeconds);
    await Bun.sleep(Math.max(0, tick + TICK_MS - performance.now()));
  }
  const changingSeconds = SECONDS + (performance.now() - until) / 1000;
  await setting.settle(mirror);
  lags.sort((a, b) => a - b);
  const p99 = lags[Math.floor(lags.length * 0.99)] ?? Number.NaN;
  process.stdout.write(
    `mirror: ${Math.round(DOCUMENTS / fillSeconds)} documents/s filled, ${Math.round(changes / changingSeconds)} changes/s, ` +
      `lag p50 ${lags[lags.length >> 1]?.toFixed(2)} s, p99 ${p99.toFixed(2)} s\n`,
  );
  expect(await mirror.verify(false)).toMatchObject({ missing: 0, extra: 0, different: 0 });
  expect(p99).toBeLessThan(LAG_SECONDS_MAX);
});
