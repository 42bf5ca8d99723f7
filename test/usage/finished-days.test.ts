// Sums by subject and day, which are made from those of the hours once the day is over.

import { beforeEach, expect, test } from 'bun:test';
import { until } from '../../src/core/wait.ts';
import { createFinishedDays } from '../../src/usage/store/finished-days.ts';
import { STORAGE_LOCK } from '../../src/usage/store/lock-stripes.ts';
import { createSummaries } from '../../src/usage/store/summaries.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

const WORKSPACES = ['acme', 'globex'];
const never = new AbortController().signal;
const day = (number: number): number => Date.UTC(2020, 0, number);

/** Four days of hours with three people, none of the days summed. */
beforeEach(async () => {
  const { sql } = database;
  await sql`TRUNCATE usage_by_subject, usage_by_subject_days`;
  await sql`
    INSERT INTO usage_by_subject (workspace_id, hour, type, subject, events, value)
    SELECT workspace, timestamp '2020-01-01' + hour * interval '1 hour', type, 'p' || person, 1 + hour % 5, hour / 8.0
    FROM unnest(${WORKSPACES}::text[]) AS workspace, generate_series(0, 95) AS hour,
      unnest(ARRAY['a.one', 'a.two', 'b']) AS type, generate_series(1, 3) AS person
    WHERE (hour + person) % 3 > 0`;
  await sql`UPDATE usage_finished_days SET until = '2020-01-01'`;
});

const finishedUntil = async (): Promise<string | undefined> => {
  const [row] = await database.sql<
    { day: string }[]
  >`SELECT until::date::text AS day FROM usage_finished_days`;
  return row?.day;
};

test('a day is summed once it is over, for every workspace, and again to the same sums', async () => {
  const { sql } = database;
  const days = createFinishedDays(sql);
  for (const expected of ['2020-01-02', '2020-01-03']) {
    expect(await days.sumNext(never)).toBe(true);
    expect(await finishedUntil()).toBe(expected);
  }
  const sums = await sql`SELECT * FROM usage_by_subject_days ORDER BY workspace_id, subject, day, type`;
  const truth = await sql`
    SELECT workspace_id, subject, date_trunc('day', hour)::timestamp(0) AS day, type, sum(events)::bigint AS events, sum(value) AS value
    FROM usage_by_subject WHERE hour < '2020-01-03' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
  expect(sums.length).toBe(2 * 3 * 2 * 3);
  expect([...sums]).toEqual([...truth]);
  await sql`UPDATE usage_finished_days SET until = '2020-01-01'`;
  for (const _ of [1, 2]) await days.sumNext(never);
  expect([
    ...(await sql`SELECT * FROM usage_by_subject_days ORDER BY workspace_id, subject, day, type`),
  ]).toEqual([...truth]);
});

test('a day that is not over is not summed', async () => {
  // In the last minute of a day the next one, which is not over when the test is.
  await database.sql`
    UPDATE usage_finished_days SET until = date_trunc('day', (clock_timestamp() + interval '1 minute') AT TIME ZONE 'UTC')`;
  const before = await finishedUntil();
  expect(await createFinishedDays(database.sql).sumNext(never)).toBe(false);
  expect(await finishedUntil()).toBe(before);
});

test('sums of any window are the same before, while and after its days are summed', async () => {
  const summaries = createSummaries(database.sql);
  const windows = [
    [undefined, undefined],
    [day(1), day(4)],
    [day(1) + 3_600_000, day(3) + 7_200_000],
    [day(2), day(3) - 1],
    [day(3), undefined],
  ];
  const all = () =>
    Promise.all(
      windows.flatMap(([from, to]) =>
        [undefined, 'a'].map((typePrefix) =>
          summaries.groups({
            workspaceId: 'acme',
            from,
            to,
            typePrefix,
            groupBy: 'subject',
            time: 'stored',
            timezone: 'UTC',
            ofEvents: false,
            after: undefined,
            limit: 10,
          }),
        ),
      ),
    );
  const expected = await all();
  expect(expected[0]?.map(({ key }) => key)).toEqual(['p1', 'p2', 'p3']);
  const days = createFinishedDays(database.sql);
  for (let summed = 0; summed < 4; summed++) {
    expect(await days.sumNext(never)).toBe(true);
    expect(await all()).toEqual(expected);
  }
});

test('transactions that still store events of the day are waited for', async () => {
  const { sql } = database;
  const storing = sql.reserve();
  await storing.unsafe('BEGIN');
  await storing.unsafe(`SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, 17)`);
  await storing.unsafe(`
    INSERT INTO usage_by_subject (workspace_id, hour, type, subject, events, value)
    VALUES ('acme', '2020-01-01T23:00', 'late', 'p1', 1, 1)`);
  const summed = createFinishedDays(sql).sumNext(never);
  await until(
    async () => {
      const [row] = await sql<{ waits: boolean }[]>`
      SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${STORAGE_LOCK}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS waits`;
      return row?.waits === true;
    },
    { everyMs: 10 },
  );
  expect(await finishedUntil()).toBe('2020-01-01');
  await storing.unsafe('COMMIT');
  storing.release();
  await summed;
  const late = await sql`SELECT events FROM usage_by_subject_days WHERE type = 'late'`;
  expect([...late]).toEqual([{ events: 1 }]);
});
