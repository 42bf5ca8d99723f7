/** Migrations of the schema. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Reserved, Sql, Transaction } from './client.ts';
import { isConnectionLost } from './unavailable.ts';

/** `compatibleFrom`: the last migration that a version must know to run with this one applied; 0 where every version may. */
type Applied = { id: number; name: string; checksum: string; compatibleFrom: number };
type Migration = Applied & { text: string };

/** The advisory lock that serialises concurrent starts; any fixed number will do. */
const LOCK = 7_220_114_053;
/** Time-out of that lock, and of the locks that a migration itself waits for. */
const LOCK_TIMEOUT = '10min';

/** A line in files that remove parts of the schema that earlier versions use. */
const COMPATIBLE_FROM = /^-- compatible from:(.*)$/m;

/**
 * Applies the files `NNNN-name.sql` of the directory that the database lacks, in order, each in a transaction of its
 * own together with its row in `schema_migrations`. Nothing to do costs one round trip.
 *
 * A version starts on a database with newer migrations than it knows, if these only add to the schema. A migration that
 * removes something says `-- compatible from: NNNN`: the last migration of the oldest version that does not use it.
 *
 * @param options.until the last migration to apply; default: all
 * @throws Error of one line, before any change, where a file is misnamed or missing, was changed after it was applied, or
 * where the database has a migration that needs a newer version. A lost connection is thrown as it is: the same call may succeed later.
 */
export async function migrate(
  sql: Sql,
  options: { directory: string; log: Pick<Logger, 'info'>; until?: number },
): Promise<void> {
  const migrations = readMigrations(options.directory).slice(0, options.until);
  const applied = await readApplied(sql);
  if (toApply(migrations, applied).length === 0) {
    const newest = applied.slice(migrations.length).at(-1)?.name;
    if (newest !== undefined)
      options.log.info(
        {},
        `database: newer than this version (${newest}), which it is still compatible with`,
      );
    return;
  }
  const connection = sql.reserve({ unlimited: true });
  try {
    await connection`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false), pg_advisory_lock(${LOCK})`;
    // Another process may have applied some during the wait.
    const lacking = toApply(migrations, await readApplied(connection));
    for (const migration of lacking) await apply(connection, migration);
    const count = lacking.length === 1 ? 'one migration' : `${lacking.length} migrations`;
    if (lacking.length > 0) options.log.info({ latest: lacking.at(-1)?.name }, `database: ${count} applied`);
  } finally {
    // The lock ends with the connection.
    connection.release();
  }
}

/** The migrations of the directory, in their order. Throws where a file is misnamed or missing. */
export function readMigrations(directory: string): Migration[] {
  const files = readdirSync(directory).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file, index) => {
    const id = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]);
    if (Number.isNaN(id)) throw new Error(`Migration ${file} is not named NNNN-name.sql`);
    if (id !== index + 1)
      throw new Error(`Migration ${file} follows no ${digits(index + 1)}: numbers have no gaps`);
    const text = readFileSync(join(directory, file), 'utf8');
    const checksum = createHash('sha256').update(text).digest('hex');
    return { id, name: file, text, checksum, compatibleFrom: readCompatibleFrom(id, file, text) };
  });
}

function readCompatibleFrom(id: number, name: string, text: string): number {
  const written = COMPATIBLE_FROM.exec(text)?.[1]?.trim();
  if (written === undefined) return 0;
  const from = /^\d{4}$/.test(written) ? Number(written) : 0;
  if (from >= 1 && from <= id) return from;
  const range = `from ${digits(1)} to ${digits(id)}`;
  throw new Error(`Migration ${name}: "compatible from" is followed by a number ${range}`);
}

async function readApplied(sql: Transaction): Promise<Applied[]> {
  try {
    return await sql<Applied[]>`
      select id, name, checksum, compatible_from as "compatibleFrom" from schema_migrations order by id`;
  } catch (error) {
    const undefinedTable = '42P01';
    if (codeOf(error) === undefinedTable) return [];
    throw error;
  }
}

function toApply(migrations: Migration[], applied: Applied[]): Migration[] {
  for (const [index, { id, name, checksum, compatibleFrom }] of applied.entries()) {
    const migration = migrations[index];
    if (id !== index + 1) throw new Error(`The database has ${name}, but not ${digits(index + 1)}`);
    if (migration === undefined) {
      if (compatibleFrom > migrations.length) throw tooNew(name, compatibleFrom, migrations.length);
      continue;
    }
    if (migration.checksum !== checksum) {
      const other = migration.name === name ? '' : ` as ${name}`;
      throw new Error(`Migration ${migration.name} was changed after it was applied${other}`);
    }
  }
  return migrations.slice(applied.length);
}

const tooNew = (name: string, needed: number, known: number): Error =>
  new Error(
    `The database is too new for this version: ${name} needs a version that knows migration ${digits(needed)}, ` +
      `and this one ends with ${digits(known)}. Start the newer version again, or restore a backup of the database ` +
      'from before that migration',
  );

const digits = (id: number): string => `${id}`.padStart(4, '0');

/** The table is created with the first migration, under the lock. */
async function apply(connection: Reserved, migration: Migration): Promise<void> {
  const { id, name, checksum, compatibleFrom, text } = migration;
  try {
    await connection.unsafe('begin');
    await connection`
      create table if not exists schema_migrations (
        id integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now(),
        compatible_from integer not null
      )`;
    await connection.unsafe(text);
    await connection`
      insert into schema_migrations (id, name, checksum, compatible_from)
      values (${id}, ${name}, ${checksum}, ${compatibleFrom})`;
    await connection.unsafe('commit');
  } catch (cause) {
    // The connection is released next, which rolls back.
    if (isConnectionLost(cause)) throw cause;
    const reason = messageOf(cause);
    throw new Error(`Migration ${name} failed: ${reason}`, { cause });
  }
}
