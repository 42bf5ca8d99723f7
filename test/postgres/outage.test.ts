// While the database is away nobody waits for long, and when it is back everything goes on by itself.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type EmbeddedPostgres, startPostgres } from '../../src/embedded/postgres/index.ts';
import { readServerState } from '../../src/embedded/postgres/processes.ts';
import { isUnavailable, type Sql } from '../../src/infra/postgres/client.ts';
import { eventually, freePort, freeze } from '../support/child.ts';
import { connectTo, silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const directory = freshFolder();
const port = freePort();
const settings = { fsync: 'off' };
let postgres: EmbeddedPostgres;
let sql: Sql;

const start = async (): Promise<void> => {
  postgres = await startPostgres({ directory, log: silentLog, port, settings });
};
const postmaster = (): number => readServerState(join(directory, 'cluster'))?.pid ?? 0;

/** Statements and transactions at once, with their outcomes. */
function burst(): Promise<('ok' | 'unavailable' | unknown)[]> {
  const works = Array.from({ length: 12 }, (_, index) =>
    index % 2 === 0 ? sql`select ${index}::int` : sql.begin((tx) => tx`select ${index}::int`),
  );
  return Promise.all(
    works.map((work) =>
      Promise.resolve(work).then(
        () => 'ok',
        (error: unknown) => (isUnavailable(error) ? 'unavailable' : error),
      ),
    ),
  );
}

const all = (outcome: string): unknown[] => Array.from({ length: 12 }, () => outcome);

beforeAll(async () => {
  await start();
  sql = connectTo(postgres.url, { connectionsMax: 3, statementTimeoutMs: 3000 });
});
beforeEach(async () => {
  expect(await burst()).toEqual(all('ok'));
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await postgres.stop();
});

test('a server that is shut down and started again', async () => {
  const cut = burst();
  await postgres.stop();
  expect((await cut).filter((outcome) => outcome !== 'ok' && outcome !== 'unavailable')).toEqual([]);
  expect(await burst()).toEqual(all('unavailable'));
  await start();
  expect(await burst()).toEqual(all('ok'));
});

test('a server that is killed amid statements and transactions', async () => {
  const open = sql
    .begin(async (tx) => {
      await tx`select 1`;
      await postgres.exited;
      await tx`select 2`;
    })
    .catch(isUnavailable);
  const asleep = sql`select pg_sleep(600)`.catch(isUnavailable);
  await eventually('the statement', async () => {
    const rows = await sql`select from pg_stat_activity where query like '%pg_sleep(600)%'`;
    return rows.length > 1;
  });
  process.kill(postmaster(), 'SIGKILL');
  expect(await Promise.all([open, asleep])).toEqual([true, true] as never);
  expect(await burst()).toEqual(all('unavailable'));
  await start();
  expect(await burst()).toEqual(all('ok'));
});

/** Stops the server and its sessions in their tracks; they go on when told. */
async function prepareHang(): Promise<{ hang: () => void; resume: () => void }> {
  const rows = await sql<{ pid: number }[]>`select pid from pg_stat_activity where pid is not null`;
  const pids = [postmaster(), ...rows.map((row) => row.pid)];
  return {
    hang: () => pids.forEach(freeze),
    resume: () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    },
  };
}

test('a server that hangs, and goes on later', async () => {
  const { hang, resume } = await prepareHang();
  hang();
  try {
    expect(await burst()).toEqual(all('unavailable'));
    expect(await burst()).toEqual(all('unavailable'));
  } finally {
    resume();
  }
  expect(await burst()).toEqual(all('ok'));
});

test.each(['a statement', 'the commit'])('a transaction whose server hangs at %s', async (moment) => {
  const { hang, resume } = await prepareHang();
  const outcome = await sql
    .begin(async (tx) => {
      await tx`select 1`;
      hang();
      if (moment === 'a statement') await tx`select 2`;
    })
    .catch(isUnavailable)
    .finally(resume);
  expect(outcome).toBe(true as never);
  expect(await burst()).toEqual(all('ok'));
});

test('a server that comes and goes under load', async () => {
  const outcomes = new Map<unknown, number>();
  let running = true;
  const load = (async () => {
    while (running) {
      for (const outcome of await burst()) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await Bun.sleep(1);
    }
  })();
  for (let round = 0; round < 3; round += 1) {
    const before = outcomes.get('ok') ?? 0;
    await eventually('work', () => (outcomes.get('ok') ?? 0) > before + 50);
    process.kill(postmaster(), round === 1 ? 'SIGKILL' : 'SIGINT');
    await postgres.exited;
    await start();
  }
  running = false;
  await load;
  expect([...outcomes.keys()].sort()).toEqual(['ok', 'unavailable']);
});
