/** Bringing the schema up to date. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reserved, Sql, Transaction } from './client.ts';

type Migration = { id: number; name: string; checksum: string; text: string };
type Applied = { id: number; name: string; checksum: string };

/** The advisory lock that processes starting at once take turns by; any fixed number does. */
const LOCK = 7_220_114_053;
/** For that lock, and for the locks that a migration itself waits for. */
const LOCK_TIMEOUT = '10min';

/**
 * Applies the files `NNNN-name.sql` of the directory that the database lacks, in order, each in a transaction of its
 * own together with its row in `schema_migrations`. Nothing to do costs one round trip.
 *
 * @throws Error of one line, before anything is changed, where a file is misnamed or missing, was changed after it
 * was applied, or where the database has migrations that the directory lacks.
 */
export async function migrate(
  sql: Sql,
  options: { directory: string; log: { info(fields: object, message: string): void } },
): Promise<void> {
  const migrations = readMigrations(options.directory);
  if (toApply(migrations, await readApplied(sql)).length === 0) return;
  const connection = sql.reserve({ unlimited: true });
  try {
    await connection`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false), pg_advisory_lock(${LOCK})`;
    // Another process may have been at work while we waited.
    const lacking = toApply(migrations, await readApplied(connection));
    for (const migration of lacking) await apply(connection, migration);
    const [count, latest] = [lacking.length, lacking.at(-1)?.name];
    const applied = count === 1 ? 'one migration applied' : `${count} migrations applied`;
    if (count > 0) options.log.info({ latest }, `database: ${applied}`);
  } finally {
    // The lock goes with the connection.
    connection.release();
  }
}

function readMigrations(directory: string): Migration[] {
  const files = readdirSync(directory).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file, index) => {
    const id = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]);
    if (Number.isNaN(id)) throw new Error(`Migration ${file} is not named NNNN-name.sql`);
    if (id !== index + 1)
      throw new Error(`Migration ${file} follows no ${digits(index + 1)}: numbers have no gaps`);
    const text = readFileSync(join(directory, file), 'utf8');
    return { id, name: file, text, checksum: createHash('sha256').update(text).digest('hex') };
  });
}

async function readApplied(sql: Transaction): Promise<Applied[]> {
  try {
    return await sql<Applied[]>`select id, name, checksum from schema_migrations order by id`;
  } catch (error) {
    const undefinedTable = '42P01';
    if (error instanceof Error && 'code' in error && error.code === undefinedTable) return [];
    throw error;
  }
}

function toApply(migrations: Migration[], applied: Applied[]): Migration[] {
  for (const [index, { id, name, checksum }] of applied.entries()) {
    const migration = migrations[index];
    if (id !== index + 1) throw new Error(`The database has ${name}, but not ${digits(index + 1)}`);
    if (migration === undefined) throw new Error(`The database is newer than this version: it has ${name}`);
    if (migration.checksum !== checksum) {
      const other = migration.name === name ? '' : ` as ${name}`;
      throw new Error(`Migration ${migration.name} was changed after it was applied${other}`);
    }
  }
  return migrations.slice(applied.length);
}

const digits = (id: number): string => `${id}`.padStart(4, '0');

/** The table is created with the first migration, under the lock. */
async function apply(connection: Reserved, { id, name, checksum, text }: Migration): Promise<void> {
  try {
    await connection.unsafe('begin');
    await connection`
      create table if not exists schema_migrations (
        id integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`;
    await connection.unsafe(text);
    await connection`insert into schema_migrations (id, name, checksum) values (${id}, ${name}, ${checksum})`;
    await connection.unsafe('commit');
  } catch (cause) {
    // The connection is released next, which rolls back.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Migration ${name} failed: ${reason}`, { cause });
  }
}
