// The power goes while a newer version brings the database of an older one up to date. Each machine that starts again finds
// every migration that was committed, applies the others, and has everything that the older version stored.

import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConnection, startPostgres } from '../../src/embedded/postgres/index.ts';
import type { Sql, Transaction } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { eventually } from '../support/child.ts';
import { connectTo, MIGRATIONS, silentLog } from '../support/database.ts';
import { missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { startService } from '../support/service.ts';
import { createRandom, seedOfRun } from './support/random.ts';

/** Migrations that the older version knows. */
const OLDER = 2;
const PEOPLE = 3000;
/** So much longer does each flush take, so that there are moments between two migrations. */
const FLUSH_MS = 100;
const MOMENT_MS = 250;
/** Of the start: the test holds each migration back, for as long as this machine takes for its looks at the disk. */
const HELD_BACK_MS_MAX = 600_000;
/** Machines that are started again. */
const MACHINES = 8;

const files = readdirSync(MIGRATIONS).toSorted();
const missing = missingFaultyDisk();
const seed = seedOfRun();

/** Its statements wait for migrations, and its transactions hold them back, for as long as a busy machine needs. */
const connect = (url: string): Sql =>
  connectTo(url, {
    connectionsMax: 1,
    statementTimeoutMs: 600_000,
    settings: { idle_in_transaction_session_timeout: '0' },
  });

/** Runs `use` on the database of a folder in which no service runs. */
async function onDatabase<Value>(dataDir: string, use: (sql: Sql) => Promise<Value>): Promise<Value> {
  const postgres = await startPostgres({ directory: join(dataDir, 'postgres'), log: silentLog });
  const sql = connect(postgres.url);
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
    await postgres.stop();
  }
}

/** A data folder of the older version, with people. */
async function makeOlder(folder: string): Promise<void> {
  const directory = join(folder, 'migrations');
  for (const name of files.slice(0, OLDER)) cpSync(join(MIGRATIONS, name), join(directory, name));
  await onDatabase(join(folder, 'data'), async (sql) => {
    await migrate(sql, { directory, log: silentLog });
    await sql`INSERT INTO workspaces (id, name) VALUES ('acme', 'Acme')`;
    await sql`
      INSERT INTO users (id, workspace_id, email)
      SELECT gen_random_uuid(), 'acme', 'p' || n || '@example.com' FROM generate_series(1, ${PEOPLE}) n`;
  });
  rmSync(directory, { recursive: true });
}

const migrationsOf = async (sql: Sql | Transaction): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`SELECT count(*)::int AS count FROM schema_migrations`;
  return row?.count ?? 0;
};

test.skipIf(missing !== undefined)(
  `a power cut during the migrations of an upgrade loses nothing (${missing ?? `FAULT_SEED=${seed}`})`,
  async () => {
    await using begun = new AsyncDisposableStack();
    const random = createRandom(seed);
    const older = mkdtempSync(join(tmpdir(), 'atrium-older-version-'));
    begun.defer(() => rmSync(older, { recursive: true, force: true }));
    await makeOlder(older);
    const disk = begun.use(
      await mountFaultyDisk({ from: older, namesWithFiles: 'data/postgres/cluster/**' }),
    );
    const dataDir = join(disk.path, 'data');
    await disk.delay({ calls: ['fsync'], path: 'data/postgres/**', ms: FLUSH_MS });

    type Machine = { folder: string; committed: number };
    const found: Machine[] = [];
    let seen = 0;
    let isMidway = false;
    /** A sample of all moments, each as likely as any other: a machine is made only for a moment that enters it. */
    const sample = async (committed: number, diskSeed?: number): Promise<void> => {
      const place = seen < MACHINES ? seen : random.below(seen + 1);
      seen += 1;
      if (place >= MACHINES) return;
      const machine = { folder: await disk.survivor(diskSeed), committed };
      const [dropped] = found.splice(place, 1, machine);
      if (dropped !== undefined) rmSync(dropped.folder, { recursive: true, force: true });
    };
    const starting = startService({ dataDir, startMsMax: HELD_BACK_MS_MAX });
    starting.catch(() => undefined);
    const url = await eventually('the database', () => readConnection(join(dataDir, 'postgres')));
    const sql = connect(url);
    // Each migration locks the table of migrations: a transaction that reads it waits for the one under way, and holds the next
    // one back.
    const holdNext = () => {
      const released = Promise.withResolvers<void>();
      const reading = Promise.withResolvers<number>();
      const ended = sql.begin(async (tx) => {
        reading.resolve(await migrationsOf(tx));
        await released.promise;
      });
      ended.catch(reading.reject);
      const release = () => {
        released.resolve();
        return ended;
      };
      return { committed: reading.promise, release };
    };
    for (let held = holdNext(), committed = OLDER; committed < files.length; ) {
      committed = await held.committed;
      await held.release();
      // The next migration is under way, and the one after it will be held back.
      held = holdNext();
      await Bun.sleep(random.below(MOMENT_MS));
      await sample(committed);
      await sample(committed, 1 + random.below(2 ** 30));
      isMidway ||= committed > OLDER;
      if (committed === files.length) await held.release();
    }
    await sql.end({ timeout: 1 });
    const service = await starting;
    await disk.clear();
    await service[Symbol.asyncDispose]();

    expect(isMidway).toBeTrue();
    for (const { folder, committed } of found) {
      const machine = join(folder, 'data');
      expect(await onDatabase(machine, migrationsOf)).toBeGreaterThanOrEqual(committed);
      await using again = await startService({ dataDir: machine });
      expect(await (await fetch(`${again.url}/readyz`)).json()).toMatchObject({ status: 'ready' });
      await again.child.stop();
      const counts = await onDatabase(machine, async (database) => ({
        migrations: await migrationsOf(database),
        people: (
          await database<
            { count: number }[]
          >`SELECT count(*)::int AS count FROM users WHERE email ~ '^p[0-9]+@'`
        )[0]?.count,
      }));
      expect(counts).toEqual({ migrations: files.length, people: PEOPLE });
    }
  },
);
